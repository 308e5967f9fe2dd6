// The store as a bucket of a real S3 server: what every store promises, and what S3 has of its own.
import { randomBytes } from "node:crypto";
import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { inspect } from "node:util";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { S3Connection, type S3Options } from "../../../../mixins/store/s3-connection.ts";
import { abortUpload, beginUpload, putPart } from "../../../../mixins/store/s3-objects.ts";
import { Part, partSizeOf } from "../../../../mixins/store/s3-part.ts";
import { S3Store } from "../../../../mixins/store/s3-store.ts";
import { StoreError } from "../../../../mixins/store/store.ts";
import { authority as strangeAuthority } from "../outbound/certificates.ts";
import { describeWithS3 } from "../../../support/describe-with-s3.ts";
import { type S3Server, startS3 } from "../../../support/s3.ts";
import { authority, certificate, certificateKey } from "./certificates.ts";
import { startFaultyProxy } from "./faulty-proxy.ts";
import { keepsThePromises, keysOf } from "./store-promises.ts";

const never = () => new AbortController().signal;
const refused = { name: "StoreError", fault: "refused" };
const tls = { certificate, key: certificateKey };

for (const [what, setup, trust] of [
  ["a bucket as a store", {}, {}],
  [
    "a bucket as a store, by TLS of an authority of its own, below a prefix",
    { tls },
    { authority, prefix: "a/b" },
  ],
] as const) {
  describeWithS3(what, () => {
    keepsThePromises(async () => {
      const server = await startS3(setup);
      const store = new S3Store({ ...server.options("promises"), ...trust });
      const stop = async () => {
        store.close();
        await server.stop();
      };
      return { store, stop };
    });
  });
}

describeWithS3("of a bucket alone", () => {
  let server: S3Server;
  const opened: { close(): void }[] = [];
  const storeWith = (bucket: string, more: Partial<S3Options> = {}) => {
    const store = new S3Store({ ...server.options(bucket), ...more });
    opened.push(store);
    return store;
  };
  const connectionTo = (bucket: string) => {
    const connection = new S3Connection(server.options(bucket));
    opened.push(connection);
    return connection;
  };
  beforeAll(async () => {
    server = await startS3();
  });
  afterAll(async () => {
    for (const each of opened) each.close();
    await server?.stop();
  });

  it("a bucket that is missing is empty, and made when something is written", async () => {
    const store = storeWith("made-late");
    expect(await keysOf(store, "")).toEqual([]);
    expect(await store.stat("a/data")).toBeUndefined();
    await expect(store.get("a/data", never())).rejects.toMatchObject({ fault: "not_found" });
    expect(await store.remove("a/data")).toEqual({ bytesStay: false, lockedUntil: undefined });
    expect(await store.removeLeftovers(new Date())).toBe(0);
    expect(await readdir(server.folder)).not.toContain("made-late");
    await store.put("a/data", Readable.from(["x"]), never());
    expect(await readdir(server.folder)).toContain("made-late");
  });

  it("a bucket is made once, however many ask for it at once", async () => {
    const stores = Array.from({ length: 8 }, () => storeWith("made-once"));
    await Promise.all(stores.map((each) => each.probe()));
    await Promise.all(
      stores.map((each, place) => each.put(`a/${place}`, Readable.from([`${place}`]), never())),
    );
    expect(await keysOf(storeWith("made-once"), "a/")).toHaveLength(8);
  });

  it("lists more than one page", async () => {
    const store = storeWith("paged");
    const keys = Array.from({ length: 1_050 }, (_, place) => `page/${String(place).padStart(5, "0")}`);
    await store.probe();
    // A thousand requests would take seconds. The server takes its files for objects.
    await mkdir(join(server.folder, "paged", "page"));
    for (const key of keys) await writeFile(join(server.folder, "paged", key), key);
    expect(await keysOf(store, "page/")).toEqual(keys);
    expect(await keysOf(store, "page/0104")).toHaveLength(10);
  });

  it("with a prefix touches nothing beside it", async () => {
    const [a, b, all] = [
      storeWith("shared", { prefix: "a" }),
      storeWith("shared", { prefix: "ab" }),
      storeWith("shared"),
    ];
    await a.put("x/data", Readable.from(["of a"]), never());
    await b.put("x/data", Readable.from(["of ab"]), never());
    expect(await keysOf(all, "")).toEqual(["a/x/data", "ab/x/data"]);
    expect(await keysOf(a, "")).toEqual(["x/data"]);
    expect(await text(await a.get("x/data", never()))).toBe("of a");
    const connection = connectionTo("shared");
    await beginUpload(connection, "ab/unfinished", {}, never());
    expect(await a.removeLeftovers(new Date(Date.now() + 60_000))).toBe(0);
    await a.remove("x/data");
    expect(await keysOf(all, "")).toEqual(["ab/x/data"]);
    expect(await b.removeLeftovers(new Date(Date.now() + 60_000))).toBe(1);
  });

  it("shows no objects of others, whose names are no keys of ours", async () => {
    const connection = connectionTo("mixed");
    const store = storeWith("mixed");
    await store.put("ours/data", Readable.from(["x"]), never());
    for (const name of ["theirs/a b.txt", "theirs/é", ".hidden", "ours/with space"]) {
      await connection.ask((client) => client.putObject("mixed", name, Buffer.from("x")));
    }
    expect(await keysOf(store, "")).toEqual(["ours/data"]);
  });

  it("ends uploads of writers that died, by their newest part, and no others", async () => {
    const connection = connectionTo("leftovers");
    const store = storeWith("leftovers");
    const part = () => {
      const fresh = new Part(1, connection.hashesBodies, undefined);
      fresh.take(randomBytes(10));
      return fresh;
    };
    const ids: Record<string, string> = {};
    for (const key of ["died", "slow", "young"]) {
      const id = await beginUpload(connection, `${key}/data`, {}, never());
      await putPart(connection, `${key}/data`, part(), id, {}, never());
      ids[key] = id;
    }
    // The server takes these times from its files.
    const twoHoursAgo = new Date(Date.now() - 7_200_000);
    const files = await readdir(server.folder, { recursive: true });
    for (const file of files) {
      const ofDied = file.includes(ids["died"] ?? "?");
      const ofSlow = file.endsWith(ids["slow"] ?? "?");
      if (ofDied || ofSlow) await utimes(join(server.folder, file), twoHoursAgo, twoHoursAgo);
    }
    expect(await keysOf(store, "")).toEqual([]);
    expect(await store.removeLeftovers(new Date(Date.now() - 3_600_000))).toBe(1);
    const left = await connection.ask((client) =>
      client.listIncompleteUploadsQuery("leftovers", "", "", "", ""),
    );
    expect(left.uploads.map(({ key }) => key).sort()).toEqual(["slow/data", "young/data"]);
    await expect(abortUpload(connection, "died/data", ids["died"] ?? "")).rejects.toMatchObject({
      fault: "not_found",
    });
  });

  it("takes archives of 500 GB, and says what is beyond", () => {
    let bytes = 0;
    for (let number = 1; number <= 10_000; number++) bytes += partSizeOf(number) ?? 0;
    expect(bytes).toBeGreaterThan(500e9);
    expect(partSizeOf(1)).toBe(8_388_608);
    expect(() => new Part(10_001, false, undefined)).toThrow(StoreError);
  });

  it.each([
    ["a wrong secret", { secretKey: "another-secret-of-tests" }],
    ["a wrong key", { accessKey: "nobody-we-know" }],
  ])("refuses %s in every operation, and repeats neither", async (_what, wrong) => {
    // A second try would come after half a minute.
    const store = storeWith("credentials", { ...wrong, bounds: { retryDelayMs: 30_000 } });
    const body = () => Readable.from([randomBytes(9_000_000)]);
    const operations: (() => Promise<unknown>)[] = [
      () => store.put("a/data", body(), never()),
      () => store.put("a/data", Readable.from([]), never()),
      () => store.get("a/data", never()),
      () => store.stat("a/data"),
      () => keysOf(store, ""),
      () => store.remove("a/data"),
      () => store.removeLeftovers(new Date()),
      () => store.probe(),
    ];
    for (const operation of operations) {
      const error: unknown = await operation().catch((each: unknown) => each);
      expect(error).toMatchObject(refused);
      const shown = inspect(error, { depth: 9, showHidden: true });
      for (const word of [
        "records-tests",
        "nobody-we-know",
        "secret-of-tests",
        "store-login-of-tests",
        "a/data",
      ])
        expect(shown).not.toContain(word);
    }
    expect(inspect(store, { depth: 9, showHidden: true })).not.toMatch(/records-tests|store-login-of-tests/);
  });

  it("says that the region is another one", async () => {
    const error: unknown = await storeWith("regions", { region: "mars-1" })
      .probe()
      .catch((each: unknown) => each);
    expect(error).toMatchObject(refused);
    expect(String(error)).toContain("S3_REGION");
  });
});

describeWithS3("a server with TLS", () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3({ tls });
  });
  afterAll(() => server?.stop());

  it.each([
    ["without its authority", undefined],
    ["with another authority", strangeAuthority],
  ])("is not trusted %s, and not asked again", async (_what, trusted) => {
    const store = new S3Store({
      ...server.options("tls"),
      ...(trusted === undefined ? {} : { authority: trusted }),
      // A second try would come after half a minute.
      bounds: { retryDelayMs: 30_000 },
    });
    await expect(store.probe()).rejects.toThrow("S3_CA_FILE");
    await expect(store.put("a/data", Readable.from(["x"]), never())).rejects.toMatchObject({
      fault: "unavailable",
    });
  });

  it("is not spoken to without it", async () => {
    const endpoint = server.options("tls").endpoint.replace("https:", "http:");
    const store = new S3Store({ ...server.options("tls"), endpoint, bounds: { triesMax: 1 } });
    await expect(store.stat("a/data")).rejects.toBeInstanceOf(StoreError);
  });

  it("is missed where there is none", async () => {
    const plain = await startFaultyProxy("http://127.0.0.1:1");
    const endpoint = plain.endpoint.replace("http:", "https:");
    const store = new S3Store({ ...server.options("tls"), endpoint, authority });
    await expect(store.stat("a/data")).rejects.toThrow("does not speak TLS");
    await plain.stop();
  });

  it("by a name that its certificate does not have", async () => {
    const endpoint = server.options("tls").endpoint.replace("127.0.0.1", "127.0.0.2");
    const proxied = new S3Store({ ...server.options("tls"), endpoint, authority, bounds: { triesMax: 1 } });
    await expect(proxied.stat("a/data")).rejects.toBeInstanceOf(StoreError);
  });
});
