// The settings of the store: what must come together, which addresses may be spoken to in clear, MINIO_*, and the store
// that follows from them.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError, readConfig } from "../../../../host/settings/config.ts";
import { FolderStore } from "../../../../mixins/store/folder-store.ts";
import { S3Store } from "../../../../mixins/store/s3-store.ts";
import { openStore } from "../../../../mixins/store/store-of.ts";
import { authority, certificateKey } from "../../mixins/store/certificates.ts";

const s3 = {
  S3_ENDPOINT: "https://s3.care.example",
  S3_BUCKET: "records-backups",
  S3_ACCESS_KEY: "records",
  S3_SECRET_KEY: "k3Vq9ZtB7wLx2NfRmYp5",
};

function faultsOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

describe("where backups are kept", () => {
  it("is a folder when nothing is set", () => {
    expect(readConfig({}).s3Endpoint).toBeUndefined();
    expect(openStore(readConfig({}))).toBeInstanceOf(FolderStore);
  });
  it("is a bucket when a server is set", () => {
    expect(openStore(readConfig(s3))).toBeInstanceOf(S3Store);
    expect(openStore(readConfig({ ...s3, S3_RETENTION_DAYS: "30", S3_PREFIX: "a/b" }))).toBeInstanceOf(
      S3Store,
    );
  });
});

describe("defaults", () => {
  it("suit most servers", () => {
    expect(readConfig(s3)).toMatchObject({
      s3Endpoint: "https://s3.care.example",
      s3Region: "us-east-1",
      s3PathStyle: true,
      s3AllowHttp: false,
      s3RetentionMode: "governance",
    });
    expect(readConfig(s3)).not.toHaveProperty("s3RetentionDays");
  });
  it.each([
    ["https://s3.eu-central-1.amazonaws.com", "eu-central-1"],
    ["https://s3.us-gov-west-1.amazonaws.com", "us-gov-west-1"],
    ["https://s3.amazonaws.com", "us-east-1"],
  ])("suit %s", (endpoint, region) => {
    expect(readConfig({ ...s3, S3_ENDPOINT: endpoint })).toMatchObject({
      s3Region: region,
      s3PathStyle: false,
    });
  });
});

describe("all or nothing", () => {
  it.each(["S3_BUCKET", "S3_ACCESS_KEY", "S3_SECRET_KEY"])("%s is missed by name", (name) => {
    expect(faultsOf({ ...s3, [name]: "" })).toEqual([`${name} must be set when S3_ENDPOINT is.`]);
  });
  it("an address alone is three faults", () => {
    expect(faultsOf({ S3_ENDPOINT: s3.S3_ENDPOINT })).toHaveLength(3);
  });
  it("a login without an address is one, and shows no secret", () => {
    expect(faultsOf({ ...s3, S3_ENDPOINT: "" })).toEqual([
      "S3_BUCKET, S3_ACCESS_KEY, S3_SECRET_KEY must not be set without S3_ENDPOINT.",
    ]);
  });
  it("a mode without days is of no use", () => {
    expect(faultsOf({ ...s3, S3_RETENTION_MODE: "compliance" })).toHaveLength(1);
    expect(faultsOf({ ...s3, S3_RETENTION_MODE: "compliance", S3_RETENTION_DAYS: "7" })).toEqual([]);
  });
});

describe("a faulty value is refused by name", () => {
  it.each([
    ["S3_ENDPOINT", "s3.care.example"],
    ["S3_ENDPOINT", "https://s3.care.example/path"],
    ["S3_ENDPOINT", "https://user:pw@s3.care.example"],
    ["S3_ENDPOINT", "ftp://s3.care.example"],
    ["S3_BUCKET", "Records"],
    ["S3_BUCKET", "a"],
    ["S3_BUCKET", "a.b"],
    ["S3_BUCKET", "-records"],
    ["S3_REGION", "eu central"],
    ["S3_ACCESS_KEY", "two words"],
    ["S3_SECRET_KEY", "short"],
    ["S3_PREFIX", "/a"],
    ["S3_PREFIX", "a/"],
    ["S3_PREFIX", "a/../b"],
    ["S3_PATH_STYLE", "perhaps"],
    ["S3_RETENTION_DAYS", "0"],
    ["S3_RETENTION_MODE", "forever"],
    ["S3_CA_FILE", "/nowhere/ca.pem"],
    ["S3_CA_FILE", import.meta.filename],
  ])("%s=%j", (name, value) => {
    const days = name === "S3_RETENTION_MODE" ? { S3_RETENTION_DAYS: "7" } : {};
    const faults = faultsOf({ ...s3, ...days, [name]: value });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(new RegExp(`^${name} `));
    if (name === "S3_SECRET_KEY") expect(faults[0]).not.toContain("short");
  });
  it("a placeholder is no secret in production", () => {
    const production = {
      NODE_ENV: "production",
      JWT_SECRET: "k3Vq9ZtB7wLx2NfRmYp5HsDcJgUa8Ee4",
      BOOT_SECRET: "W6hTn1QyXo0SvIbKzGjMlPdFr3CuAi7R",
      ADMIN_PASSWORD: "Quiet-Harbour-58",
    };
    expect(faultsOf({ ...production, ...s3 })).toEqual([]);
    expect(faultsOf({ ...production, ...s3, S3_SECRET_KEY: "minioadmin" })).toHaveLength(1);
  });
});

describe("without TLS", () => {
  it.each([
    "http://127.0.0.1:9000",
    "http://localhost:9000",
    "http://[::1]:9000",
    "http://10.1.2.3",
    "http://192.168.0.7:7070",
    "http://[fd00::7]",
    "http://store:7070",
    "http://store.records.svc",
    "http://store.records.svc.cluster.local:7070",
    "http://nas.lan",
  ])("%s may be spoken to", (endpoint) => {
    expect(faultsOf({ ...s3, S3_ENDPOINT: endpoint })).toEqual([]);
  });
  it.each(["http://s3.care.example", "http://8.8.8.8", "http://[2a00::1]:9000", "http://s3.amazonaws.com"])(
    "%s may not, unless told",
    (endpoint) => {
      expect(faultsOf({ ...s3, S3_ENDPOINT: endpoint })).toEqual([expect.stringContaining("must be https")]);
      expect(faultsOf({ ...s3, S3_ENDPOINT: endpoint, S3_ALLOW_HTTP: "true" })).toEqual([]);
    },
  );
});

describe("files", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "records-settings-"));
    await writeFile(join(folder, "ca.pem"), `# ours\n${authority}\n${authority}`);
    await writeFile(join(folder, "broken.pem"), authority.replace("MII", "AAA"));
    await writeFile(join(folder, "key.pem"), certificateKey);
    await writeFile(join(folder, "secret"), `${s3.S3_SECRET_KEY}\n`);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("hold authorities and secrets", () => {
    const { S3_SECRET_KEY: _secret, ...rest } = s3;
    const config = readConfig({
      ...rest,
      S3_SECRET_KEY_FILE: join(folder, "secret"),
      S3_CA_FILE: join(folder, "ca.pem"),
    });
    expect(config.s3SecretKey).toBe(s3.S3_SECRET_KEY);
    expect(config.s3Authority?.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });
  it.each(["broken.pem", "key.pem"])("%s is refused at the start", (name) => {
    const faults = faultsOf({ ...s3, S3_CA_FILE: join(folder, name) });
    expect(faults).toEqual([expect.stringMatching(/^S3_CA_FILE /)]);
  });
  it("of authorities are of no use without TLS", () => {
    expect(
      faultsOf({ ...s3, S3_ENDPOINT: "http://store:7070", S3_CA_FILE: join(folder, "ca.pem") }),
    ).toHaveLength(1);
  });
});

describe("MINIO_*", () => {
  const minio = {
    MINIO_ENDPOINT: "store",
    MINIO_PORT: "9000",
    MINIO_USE_SSL: "false",
    MINIO_ACCESS_KEY: "records",
    MINIO_SECRET_KEY: "k3Vq9ZtB7wLx2NfRmYp5",
    MINIO_BUCKET: "records-backups",
    MINIO_REGION: "here",
  };
  it("is read as S3_* is", () => {
    expect(readConfig(minio)).toMatchObject({
      s3Endpoint: "http://store:9000",
      s3Bucket: "records-backups",
      s3Region: "here",
      s3AccessKey: "records",
      s3SecretKey: "k3Vq9ZtB7wLx2NfRmYp5",
    });
  });
  it.each([
    [{ MINIO_ENDPOINT: "http://store:9000", MINIO_PORT: "" }, "http://store:9000"],
    [
      { MINIO_ENDPOINT: "store.care.example", MINIO_PORT: "", MINIO_USE_SSL: "" },
      "https://store.care.example",
    ],
    [{ MINIO_ENDPOINT: "store:9443", MINIO_PORT: "", MINIO_USE_SSL: "true" }, "https://store:9443"],
  ])("%j is %s", (more, endpoint) => {
    expect(readConfig({ ...minio, ...more }).s3Endpoint).toBe(endpoint);
  });
  it("gives way to nobody: two that differ are a fault", () => {
    expect(faultsOf({ ...minio, S3_BUCKET: "records-backups" })).toEqual([]);
    expect(faultsOf({ ...minio, S3_BUCKET: "another-bucket" })).toEqual([
      "S3_BUCKET and MINIO_BUCKET are both set and differ; one is enough.",
    ]);
    const two = faultsOf({ ...minio, S3_SECRET_KEY: "W6hTn1QyXo0SvIbKzGjM" });
    expect(two).toHaveLength(1);
    expect(two[0]).not.toMatch(/W6hTn1|k3Vq9Z/);
  });
  it("must be true or false about TLS", () => {
    expect(faultsOf({ ...minio, MINIO_USE_SSL: "perhaps" })).toContain(
      "MINIO_USE_SSL must be true or false.",
    );
  });
});
