// Buckets that keep versions or lock objects: what a removal leaves, what a thief of the service's credentials can do, and
// how what he hid is brought back. The rights are those that docs/deploy.md gives.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type RetentionMode, S3Connection, type S3Options } from "../../../../mixins/store/s3-connection.ts";
import { S3Store } from "../../../../mixins/store/s3-store.ts";
import { describeWithS3 } from "../../../support/describe-with-s3.ts";
import { type S3Server, startS3 } from "../../../support/s3.ts";
import { keysOf } from "./store-promises.ts";

const never = () => new AbortController().signal;
const service = { accessKey: "service-of-tests", secretKey: "service-secret-of-tests" };
const dayMs = 86_400_000;

/** The policy in docs/deploy.md, for the bucket of a test and the service's login. */
function documentedPolicy(bucket: string): string {
  const docs = readFileSync(join(resolve(import.meta.dirname, "../../../.."), "docs/deploy.md"), "utf8");
  const [policy = ""] = [...docs.matchAll(/^```json\n(\{.*?^\})\n```$/gms)]
    .map((found) => found[1] ?? "")
    .filter((block) => block.includes("s3:PutObject"));
  const { Version, Statement } = JSON.parse(policy.replaceAll("records-backups", bucket));
  // A policy of a bucket names whom it is for; one of a login, as the docs have it, need not.
  const named = Statement.map((each: object) => ({ ...each, Principal: { AWS: [service.accessKey] } }));
  return JSON.stringify({ Version, Statement: named });
}

describeWithS3("a bucket that keeps versions", () => {
  let server: S3Server;
  const opened: { close(): void }[] = [];
  const storeAs = (bucket: string, more: Partial<S3Options> = {}) => {
    const store = new S3Store({ ...server.options(bucket), ...more });
    opened.push(store);
    return store;
  };
  const operator = (bucket: string) => {
    const connection = new S3Connection(server.options(bucket));
    opened.push(connection);
    return connection;
  };
  const versionsOf = async (connection: S3Connection) => {
    const options = { Delimiter: "", MaxKeys: 100, IncludeVersion: true };
    const { objects } = await connection.ask((client) =>
      client.listObjectsQuery(connection.bucket, "", "", options),
    );
    // The client declares objects alone, and gives versions and delete markers too.
    return objects as unknown as {
      name: string;
      versionId: string;
      isDeleteMarker?: boolean;
      size?: number;
    }[];
  };
  /** A bucket with object lock, made by the store of an operator, and a login with the documented rights on it. */
  const lockedBucket = async (bucket: string, mode: RetentionMode) => {
    const retention = { days: 30, mode };
    await storeAs(bucket, { retention }).probe();
    const connection = operator(bucket);
    await connection.ask((client) => client.setBucketPolicy(bucket, documentedPolicy(bucket)));
    return { store: storeAs(bucket, { ...service, retention }), connection };
  };
  beforeAll(async () => {
    server = await startS3();
    await server.addUser(service.accessKey, service.secretKey);
  });
  afterAll(async () => {
    for (const each of opened) each.close();
    await server?.stop();
  });

  it("the documented rights are enough for everything the service does", async () => {
    const { store } = await lockedBucket("rights", "governance");
    await store.probe();
    const large = randomBytes(9_000_000);
    await store.put("large/data", Readable.from([large]), never());
    await store.put("small/data", Readable.from([]), never());
    expect((await buffer(await store.get("large/data", never()))).equals(large)).toBe(true);
    expect((await store.stat("small/data"))?.bytes).toBe(0);
    expect(await keysOf(store, "")).toEqual(["large/data", "small/data"]);
    expect(await store.removeLeftovers(new Date())).toBe(0);
    await store.remove("small/data");
    expect(await keysOf(store, "")).toEqual(["large/data"]);
  });

  it("what is removed is hidden, and its bytes stay locked", async () => {
    const { store, connection } = await lockedBucket("hidden", "governance");
    await store.put("a/data", Readable.from(["of value"]), never());
    const removal = await store.remove("a/data");
    expect(removal.bytesStay).toBe(true);
    const days = ((removal.lockedUntil?.getTime() ?? 0) - Date.now()) / dayMs;
    expect(days).toBeGreaterThan(29.9);
    expect(days).toBeLessThan(30.1);
    expect(await store.stat("a/data")).toBeUndefined();
    expect(await keysOf(store, "")).toEqual([]);
    await expect(store.get("a/data", never())).rejects.toMatchObject({ fault: "not_found" });
    // Again: no second delete marker.
    expect(await store.remove("a/data")).toEqual({ bytesStay: false, lockedUntil: undefined });
    expect(await versionsOf(connection)).toHaveLength(2);
  });

  it("what a probe writes does not stay", async () => {
    const { store, connection } = await lockedBucket("probed", "compliance");
    for (let times = 0; times < 3; times++) await store.probe();
    expect(await versionsOf(connection)).toEqual([]);
    expect(await store.removeLeftovers(new Date(Date.now() + 60_000))).toBe(0);
  });

  it.each(["governance", "compliance"] as const)(
    "a thief of the service's credentials destroys nothing, and what he hid comes back (%s)",
    async (mode) => {
      const bucket = `stolen-${mode}`;
      const { store, connection } = await lockedBucket(bucket, mode);
      const large = randomBytes(9_000_000);
      await store.put("a/data", Readable.from([large]), never());
      await store.put("a/manifest", Readable.from(["true"]), never());
      const thief = new S3Connection({ ...server.options(bucket), ...service });
      opened.push(thief);
      const denied = { code: "AccessDenied" };
      for (const { name, versionId } of await versionsOf(connection)) {
        for (const governanceBypass of [false, true]) {
          const options = { versionId, governanceBypass };
          await expect(
            thief.ask((client) => client.removeObject(bucket, name, options)),
          ).rejects.toMatchObject(denied);
        }
        const shorter = {
          mode: "GOVERNANCE",
          retainUntilDate: new Date(Date.now() + 1_000).toISOString(),
          versionId,
        };
        await expect(
          thief.ask((client) =>
            client.putObjectRetention(bucket, name, { ...shorter, governanceBypass: true } as never),
          ),
        ).rejects.toMatchObject(denied);
      }
      await expect(
        thief.ask((client) => client.setBucketVersioning(bucket, { Status: "Suspended" })),
      ).rejects.toMatchObject(denied);
      await expect(thief.ask((client) => client.setBucketPolicy(bucket, "{}"))).rejects.toMatchObject(denied);
      await expect(thief.ask((client) => client.removeBucket(bucket))).rejects.toMatchObject(denied);
      // What he may: hide one, and put rubbish over the other.
      await store.remove("a/data");
      await store.put("a/manifest", Readable.from(["false"]), never());
      expect(await text(await store.get("a/manifest", never()))).toBe("false");

      // As docs/deploy.md says: an operator ends the delete markers, and reads the older version.
      const versions = await versionsOf(connection);
      const marker = versions.find(({ isDeleteMarker }) => isDeleteMarker === true);
      expect(marker?.name).toBe("a/data");
      await connection.ask((client) =>
        client.removeObject(bucket, "a/data", { versionId: marker?.versionId ?? "" }),
      );
      expect((await buffer(await store.get("a/data", never()))).equals(large)).toBe(true);
      const older = versions.filter(({ name, size }) => name === "a/manifest" && size === 4);
      const [{ versionId } = { versionId: "" }] = older;
      const kept = await connection.ask((client) => client.getObject(bucket, "a/manifest", { versionId }));
      expect(await text(kept)).toBe("true");
    },
  );

  it("with versions alone nothing is locked, and the bytes of what is removed stay", async () => {
    const connection = operator("versioned");
    const store = storeAs("versioned");
    await store.probe();
    await connection.ask((client) => client.setBucketVersioning("versioned", { Status: "Enabled" }));
    await store.put("a/data", Readable.from(["first"]), never());
    await store.put("a/data", Readable.from(["second"]), never());
    expect(await text(await store.get("a/data", never()))).toBe("second");
    expect(await store.remove("a/data")).toEqual({ bytesStay: true, lockedUntil: undefined });
    expect(await keysOf(store, "")).toEqual([]);
  });

  it("a retention needs a bucket with object lock, and that is said before anything is written", async () => {
    await storeAs("plain").probe();
    const store = storeAs("plain", { retention: { days: 1, mode: "governance" } });
    await expect(store.probe()).rejects.toThrow("object lock");
    await expect(store.put("a/data", Readable.from(["x"]), never())).rejects.toMatchObject({
      fault: "refused",
    });
  });

  it("a bucket that is missing and may not be made is said in one sentence", async () => {
    const store = storeAs("never-made", service);
    await expect(store.probe()).rejects.toThrow(
      "The bucket does not exist, and these credentials may not make it.",
    );
    await expect(store.put("a/data", Readable.from(["x"]), never())).rejects.toMatchObject({
      fault: "refused",
    });
  });
});
