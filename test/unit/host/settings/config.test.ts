import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { ConfigError, describeSettings, readConfig } from "../../../../host/settings/config.ts";

const jwt = "k3Vq9ZtB7wLx2NfRmYp5HsDcJgUa8Ee4";
const boot = "W6hTn1QyXo0SvIbKzGjMlPdFr3CuAi7R";
const password = "Quiet-Harbour-58";
const bus = "d8Xw2LpQe5RtYu7IoPa9SdFgHjKlZx3C";
const kinds = {
  gateway: { NODE_ENV: "production", SERVICES: "api-gateway", NATS_URL: "nats://bus", BUS_SECRET: bus },
  accounts: {
    NODE_ENV: "production",
    SERVICES: "auth,tenants,users",
    NATS_URL: "nats://bus",
    BUS_SECRET: bus,
    JWT_SECRET: jwt,
    DATABASE_APP_URL: "postgresql://accounts:hunter2@db/records",
    ADMIN_PASSWORD: password,
  },
  crypto: {
    NODE_ENV: "production",
    SERVICES: "crypto",
    NATS_URL: "nats://bus",
    BUS_SECRET: bus,
    BOOT_SECRET: boot,
    DATABASE_APP_URL: "postgresql://db/records",
  },
  support: {
    NODE_ENV: "production",
    SERVICES: "audit,cache,health,mail,patients,payments,self-healing",
    NATS_URL: "nats://bus",
    BUS_SECRET: bus,
    DATABASE_APP_URL: "postgresql://db/records",
    DATABASE_PASSWORD_SUPPORT: "zT4mWq8LrB1xNs6Y",
    AUDIT_SIGNING_KEY: "Qp7vXc3MnZ9kLj5HgFd2SaRe8TyUw4Bo",
  },
};
const database = "postgresql://owner:hunter2@db:5432/records";
const production = { NODE_ENV: "production", JWT_SECRET: jwt, BOOT_SECRET: boot, ADMIN_PASSWORD: password };

function faultsOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

describe("an empty environment", () => {
  const config = readConfig({});
  it("is a demo on this machine alone, everything embedded", () => {
    expect(config).toMatchObject({
      production: false,
      port: 3000,
      host: "127.0.0.1",
      publicUrl: "http://localhost:3000",
      demoMode: true,
      tenantMode: "multi",
      defaultRegistration: "open",
      accessTokenTtlSeconds: 43_200,
      loginPerMinute: 30,
      registerPerMinute: 10,
      mailPerMinute: 10,
      retentionDays: 30,
      requestTimeoutMs: 10_000,
      databasePoolMax: 10,
      argon2QueueMax: 64,
      corsOrigins: [],
      trustedProxies: [],
      mailFrom: "no-reply@localhost",
    });
    expect(config.argon2Workers).toBeGreaterThanOrEqual(1);
  });
  it("leaves what has no default undefined", () => {
    expect(config.databaseUrl).toBeUndefined();
    expect(config.natsUrls).toBeUndefined();
    expect(config.jwtSecret).toBeUndefined();
    expect(config.services).toBeUndefined();
    expect(config.healthPort).toBeUndefined();
  });
  it("gives an absolute data folder", () => expect(isAbsolute(config.dataDir)).toBe(true));
  it("cannot be changed afterwards", () => expect(Object.isFrozen(config)).toBe(true));
  it("is the same as one of empty values, as compose files pass them", () => {
    const empty = Object.fromEntries(describeSettings().map(({ name }) => [name.split(",")[0], ""]));
    expect(readConfig(empty)).toEqual(config);
  });
});

describe("defaults that follow from other settings", () => {
  it.each([
    [{ PORT: "8080" }, { publicUrl: "http://localhost:8080" }],
    [
      { PUBLIC_URL: "https://care.example/app/" },
      { publicUrl: "https://care.example/app", mailFrom: "no-reply@care.example" },
    ],
    [{ DEMO_MODE: "no" }, { demoMode: false, defaultRegistration: "approval" }],
    [
      { DATABASE_URL: database, JWT_SECRET: jwt, BOOT_SECRET: boot },
      { demoMode: false, defaultRegistration: "approval" },
    ],
    [production, { production: true, demoMode: false, host: "0.0.0.0" }],
    [
      { ...production, NODE_ENV: "PROD" },
      { production: true, demoMode: false },
    ],
    [{ SERVICES: "auth, users," }, { services: ["auth", "users"] }],
    [
      { CORS_ORIGINS: "https://a.example,http://b.example:8080" },
      { corsOrigins: ["https://a.example", "http://b.example:8080"] },
    ],
    [{ CORS_ORIGINS: "*" }, { corsOrigins: ["*"] }],
    [{ TRUST_PROXY: "10.0.0.0/8,::1,fd00::/8" }, { trustedProxies: ["10.0.0.0/8", "::1", "fd00::/8"] }],
    [{ MAIL_FROM: "Care desk <care@a.example>" }, { mailFrom: "Care desk <care@a.example>" }],
    [
      { CARD_WEBHOOK_SECRETS: "a-secret-of-16-c , another-of-sixteen" },
      { cardWebhookSecrets: ["a-secret-of-16-c", "another-of-sixteen"], walletWebhookSecrets: [] },
    ],
    [
      { TELEGRAM_BOT_TOKEN: "4711:AAbb_cc-dd" },
      {
        telegramBotToken: "4711:AAbb_cc-dd",
        telegramWebhook: false,
        telegramApiRoot: "https://api.telegram.org",
      },
    ],
    [
      { TELEGRAM_API_ROOT: "http://bot-api:8081/", TELEGRAM_WEBHOOK: "true" },
      { telegramApiRoot: "http://bot-api:8081", telegramWebhook: true },
    ],
    [{ JWT_PREVIOUS_SECRETS: `${jwt},${boot}` }, { jwtPreviousSecrets: [jwt, boot] }],
  ])("%j", (env, expected) => expect(readConfig(env)).toMatchObject(expected));
});

describe("a faulty value is refused by name", () => {
  it.each([
    ["PORT", "x"],
    ["PORT", "65536"],
    ["PORT", "-1"],
    ["PORT", "3e3"],
    ["PORT", "0x50"],
    ["HOST", "not a host"],
    ["HOST", "-oops"],
    ["PUBLIC_URL", "care.example"],
    ["PUBLIC_URL", "ftp://care.example"],
    ["PUBLIC_URL", "https://user:pw@care.example"],
    ["PUBLIC_URL", "https://care.example/?a=b"],
    ["DEMO_MODE", "maybe"],
    ["TENANT_MODE", "many"],
    ["ADMIN_EMAIL", "admin"],
    ["ADMIN_EMAIL", "a@b@c"],
    ["ACCESS_TOKEN_TTL_SECONDS", "0"],
    ["RATE_LOGIN_PER_MINUTE", "0"],
    ["DEFAULT_REGISTRATION", "OPEN"],
    ["MAIL_FROM", "a@b\r\nBcc: c@d"],
    ["MAIL_FROM", "a@b, c@d"],
    ["OPERATOR", "two\nlines"],
    ["CORS_ORIGINS", "https://a.example/"],
    ["CORS_ORIGINS", "a.example"],
    ["CORS_ORIGINS", "null"],
    ["TRUST_PROXY", "10.0.0.0/33"],
    ["TRUST_PROXY", "proxy.example"],
    ["TRUST_PROXY", "10.0.0.0/8/8"],
    ["TRUST_PROXY", "true"],
    ["TRUST_PROXY", "REPLACE-THIS"],
    ["TRUST_PROXY", "10.0.0.1,REPLACE-THIS"],
    ["CONNECTIONS_PER_ADDRESS_MAX", "9"],
    ["CONNECTIONS_PER_ADDRESS_MAX", "10001"],
    ["BODIES_BYTES_MAX", "1000000"],
    ["LOG_LEVEL", "loud"],
    ["RETENTION_DAYS", "0"],
    ["HEALTH_PORT", "health"],
    ["NODE_ID", "a b"],
    ["NAMESPACE", "a:b"],
    ["SERVICES", "../etc"],
    ["REQUEST_TIMEOUT_MS", "1"],
    ["ARGON2_WORKERS", "0"],
    ["ARGON2_QUEUE_MAX", "many"],
    ["DATABASE_POOL_MAX", "0"],
  ])("%s=%j", (name, value) => {
    const faults = faultsOf({ [name]: value });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(new RegExp(`^${name} must .*, not ".*"\\.$`));
    expect(faults[0]).not.toContain("\n");
  });
});

describe("a faulty secret is refused without being repeated", () => {
  it.each([
    ["DATABASE_URL", "mysql://u:hunter2@db/x"],
    ["DATABASE_URL", "postgres://u:hunter2@db"],
    ["NATS_URL", "http://u:hunter2@bus"],
    ["NATS_URL", "hunter2"],
    ["SMTP_URL", "https://u:hunter2@mail"],
    ["SMTP_URL", "smtp://u:hunter2@mail?tls=of"],
    ["SMTP_URL", "smtp://"],
    ["JWT_SECRET", "hunter2"],
    ["BOOT_SECRET", "hunter2hunter2"],
    ["BUS_SECRET", "hunter2hunter2"],
    ["JWT_SECRET", "hunter2".padEnd(600, "x")],
    ["BOOT_SECRET", "2222222222222222222222222222222222222222"],
    ["JWT_PREVIOUS_SECRETS", "hunter2"],
    ["CARD_WEBHOOK_SECRETS", "hunter2,a-secret-long-enough"],
    ["WALLET_WEBHOOK_SECRETS", Array.from({ length: 4 }, () => "a-secret-long-enough").join(",")],
    ["TELEGRAM_BOT_TOKEN", "hunter2/../getMe"],
    ["TELEGRAM_BOT_TOKEN", "hunter2?x"],
    ["ADMIN_PASSWORD", "hunter2"],
    ["DEMO_PASSWORD", "hunter2"],
  ])("%s=%s", (name, value) => {
    const faults = faultsOf({ JWT_SECRET: jwt, BOOT_SECRET: boot, [name]: value });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(new RegExp(`^${name} must `));
    expect(faults[0]).not.toMatch(/hunter2|2222/);
  });
});

describe("rules between settings", () => {
  it.each([
    ["a bus needs secrets", { NATS_URL: "nats://bus" }, [/^JWT_SECRET.*NATS_URL/, /^BOOT_SECRET.*NATS_URL/]],
    [
      "production needs secrets and a password",
      { NODE_ENV: "production" },
      [/^JWT_SECRET/, /^BOOT_SECRET/, /^ADMIN_PASSWORD/],
    ],
    [
      "a copied secret",
      { ...production, JWT_SECRET: "please-change-me-please-change-me-x" },
      [/^JWT_SECRET is a placeholder/],
    ],
    [
      "a copied boot secret",
      { ...production, BOOT_SECRET: "super-secret-super-secret-super-1" },
      [/^BOOT_SECRET is a placeholder/],
    ],
    [
      "a copied earlier secret",
      { ...production, JWT_PREVIOUS_SECRETS: "your-256-bit-secret-your-256-bit-1" },
      [/^JWT_PREVIOUS_SECRETS/],
    ],
    ["one secret for two purposes", { ...production, BOOT_SECRET: jwt }, [/must differ/]],
    [
      "a published administrator",
      { ...production, ADMIN_PASSWORD: "Open-Sesame-4711" },
      [/^ADMIN_PASSWORD is/],
    ],
    [
      "a common administrator",
      { ...production, ADMIN_PASSWORD: "trustno1" },
      [/^ADMIN_PASSWORD is refused: .*common/],
    ],
    ["a demo with published sign-ins", { ...production, DEMO_MODE: "true" }, [/^DEMO_MODE in production/]],
    [
      "a gateway for other machines and a demo whose published sign-ins another process makes",
      { HOST: "0.0.0.0", DEMO_MODE: "true", SERVICES: "api-gateway" },
      [/^DEMO_PASSWORD must be one of your own where HOST is not loopback/],
    ],
    ["two listeners on one port", { PORT: "3000", HEALTH_PORT: "3000" }, [/must differ/]],
    [
      "a database that others migrate, with secrets of nobody else",
      { DATABASE_APP_URL: "postgresql://db/records" },
      [/^JWT_SECRET .+ when DATABASE_APP_URL is set without DATABASE_URL\.$/, /^BOOT_SECRET .+ must be set/],
    ],
    [
      "a gateway that cannot speak with the others",
      { ...kinds.gateway, BUS_SECRET: "" },
      [/^BUS_SECRET .* in production/],
    ],
    [
      "sign-in without what signs tokens",
      { ...kinds.accounts, JWT_SECRET: "" },
      [/^JWT_SECRET .* in production/],
    ],
    ["keys without what wraps them", { ...kinds.crypto, BOOT_SECRET: "" }, [/^BOOT_SECRET .* in production/]],
    [
      "an audit log without what signs it",
      { ...kinds.support, AUDIT_SIGNING_KEY: "" },
      [/^AUDIT_SIGNING_KEY .* in production/],
    ],
    [
      "a database login whose password nobody can know",
      { ...kinds.support, DATABASE_PASSWORD_SUPPORT: "" },
      [/^BOOT_SECRET .* in production/],
    ],
    [
      "preparing a database without what proves that it is the right one",
      { ...kinds.support, DATABASE_URL: database },
      [/^BOOT_SECRET .* in production/],
    ],
    [
      "a copied bus secret",
      { ...kinds.gateway, BUS_SECRET: "super-secret-super-secret-super-1" },
      [/^BUS_SECRET is a placeholder/],
    ],
    ["a bus under the key of keys", { ...kinds.crypto, BUS_SECRET: boot }, [/^JWT_SECRET, .* must differ/]],
  ])("%s", (_, env, expected) => {
    const faults = faultsOf(env);
    expect(faults).toHaveLength(expected.length);
    expected.forEach((pattern, index) => expect(faults[index]).toMatch(pattern));
  });

  it.each([
    ["production with its own secrets", production],
    [
      "a production demo with its own password",
      { ...production, DEMO_MODE: "1", DEMO_PASSWORD: "Quiet-Harbour-59" },
    ],
    ["a demo for other machines, whose sign-ins this process makes", { HOST: "0.0.0.0" }],
    [
      "a gateway for other machines and a demo with its own password",
      { HOST: "::", DEMO_MODE: "1", DEMO_PASSWORD: "Quiet-Harbour-59", SERVICES: "api-gateway" },
    ],
    ...["localhost", "127.0.0.1", "127.8.8.8", "::1"].map(
      (host) =>
        [`a demo's gateway on ${host}`, { HOST: host, DEMO_MODE: "true", SERVICES: "api-gateway" }] as [
          string,
          Record<string, string>,
        ],
    ),
    ["listeners on any free port", { PORT: "0", HEALTH_PORT: "0", METRICS_PORT: "0" }],
    ["a database of one's own outside production", { DATABASE_URL: database }],
    [
      "a database that others migrate",
      { DATABASE_APP_URL: "postgresql://db/records", JWT_SECRET: jwt, BOOT_SECRET: boot },
    ],
    [
      "a production gateway, which makes no administrator",
      { ...production, ADMIN_PASSWORD: "", SERVICES: "api-gateway" },
    ],
    ...Object.entries(kinds).map(([kind, env]): [string, NodeJS.ProcessEnv] => [
      `what ${kind} uses and nothing else`,
      env,
    ]),
    [
      "a gateway that has what it had before there was BUS_SECRET",
      { ...kinds.gateway, BUS_SECRET: "", BOOT_SECRET: boot, JWT_SECRET: jwt },
    ],
    ["a copied secret on a laptop", { JWT_SECRET: "please-change-me-please-change-me-x" }],
  ])("%s is taken", (_, env) => expect(faultsOf(env)).toEqual([]));

  it("names every fault at once, one sentence a line", () => {
    const env = {
      NODE_ENV: "production",
      PORT: "x",
      DATABASE_URL: "mysql://h/x",
      JWT_SECRET: "short",
      LOG_LEVEL: "?",
    };
    expect(() => readConfig(env)).toThrow(ConfigError);
    const faults = faultsOf(env);
    for (const name of ["PORT", "DATABASE_URL", "JWT_SECRET", "LOG_LEVEL", "BOOT_SECRET", "ADMIN_PASSWORD"])
      expect(faults.filter((each) => each.startsWith(name))).toHaveLength(1);
    expect(faults).toHaveLength(6);
  });
});

describe("secrets from files", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "config-"));
    await writeFile(join(folder, "jwt"), `${jwt}\n`);
    await writeFile(join(folder, "empty"), "\n");
    await writeFile(join(folder, "huge"), "x".repeat(70_000));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("are read without the newline at their end", () =>
    expect(readConfig({ JWT_SECRET_FILE: join(folder, "jwt") }).jwtSecret).toBe(jwt));

  it.each([
    ["absent", /^JWT_SECRET_FILE .*\(ENOENT\)\.$/],
    ["", /^JWT_SECRET_FILE .* no plain file\.$/],
    ["empty", /^JWT_SECRET_FILE .* is empty\.$/],
    ["huge", /^JWT_SECRET_FILE .* too large\.$/],
  ])("are refused when the file is %j", (file, pattern) => {
    const faults = faultsOf({ ...production, JWT_SECRET: "", JWT_SECRET_FILE: join(folder, file) });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(pattern);
  });
  it("are refused when given twice", () =>
    expect(faultsOf({ JWT_SECRET: jwt, JWT_SECRET_FILE: join(folder, "jwt") })).toHaveLength(1));
  it("exist for secrets only", () => expect(readConfig({ PORT_FILE: join(folder, "jwt") }).port).toBe(3000));
});

describe("the description", () => {
  const rows = describeSettings();
  it("has one row a setting, each with a meaning", () => {
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
    for (const row of rows) expect(row.meaning.length).toBeGreaterThan(5);
  });
  it("tells which settings may come from a file", () =>
    expect(rows.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["JWT_SECRET, JWT_SECRET_FILE", "SMTP_URL, SMTP_URL_FILE", "PORT"]),
    ));
  it("holds nothing of this machine", () => expect(JSON.stringify(rows)).not.toContain(process.cwd()));
});
