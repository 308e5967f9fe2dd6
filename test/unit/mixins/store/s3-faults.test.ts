// An S3 store that breaks: killed, stopped, away, or answering nonsense. Each time an error within bounds, nothing half
// written, and all well again afterwards.
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import {
  type S3Client,
  S3Connection,
  type S3Options,
  type StoreBounds,
} from "../../../../mixins/store/s3-connection.ts";
import { S3Store } from "../../../../mixins/store/s3-store.ts";
import { describeWithS3 } from "../../../support/describe-with-s3.ts";
import { freePort } from "../../../support/nats.ts";
import { type S3Server, startS3 } from "../../../support/s3.ts";
import { eventually } from "../../../support/service.ts";
import { type FaultyProxy, startFaultyProxy } from "./faulty-proxy.ts";
import { keysOf } from "./store-promises.ts";

const never = () => new AbortController().signal;
const mebibyte = 1_048_576;
/** So that a test waits for the bound, not for half a minute. */
const short: Partial<StoreBounds> = {
  connectMsMax: 1_000,
  idleMsMax: 1_000,
  answerMsMax: 1_500,
  partMsMax: 1_500,
  finishMsMax: 1_500,
  triesMax: 2,
  retryDelayMs: 10,
};
const unavailable = { name: "StoreError", fault: "unavailable" };

/** Gives 9 MiB, waits until the server has the first part of them, does what the test wants, and gives 16 MiB more. */
function bodyInterruptedBy(options: S3Options, interrupt: () => unknown): Readable {
  const connection = new S3Connection(options);
  const chunks = async function* () {
    yield randomBytes(9 * mebibyte);
    await eventually(() => connection.ask((client) => hasPart(client, options.bucket)).catch(() => false));
    connection.close();
    await interrupt();
    yield randomBytes(16 * mebibyte);
  };
  return Readable.from(chunks(), { objectMode: true });
}

async function hasPart(client: S3Client, bucket: string): Promise<boolean> {
  const { uploads } = await client.listIncompleteUploadsQuery(bucket, "", "", "", "");
  const parts = await Promise.all(uploads.map(({ key, uploadId }) => client.partsOf(bucket, key, uploadId)));
  return parts.flat().length > 0;
}

describeWithS3("a server that is killed or stopped", () => {
  let server: S3Server;
  let store: S3Store;
  beforeAll(async () => {
    server = await startS3();
    store = new S3Store({ ...server.options("broken"), bounds: short });
    await store.put("old/data", Readable.from([randomBytes(32 * mebibyte)]), never());
  });
  afterAll(async () => {
    store?.close();
    await server?.stop();
  });

  const signal = (name: "SIGSTOP" | "SIGCONT") => process.kill(server.processId(), name);

  it("killed in the middle of a put: an error, nothing listed, and the leftover goes later", async () => {
    const body = bodyInterruptedBy(server.options("broken"), () => server.kill());
    await expect(store.put("killed/data", body, never())).rejects.toMatchObject(unavailable);
    expect(body.destroyed).toBe(true);
    await server.start();
    expect(await keysOf(store, "killed/")).toEqual([]);
    expect(await store.removeLeftovers(new Date())).toBe(1);
    expect(await store.removeLeftovers(new Date())).toBe(0);
    expect(await store.put("killed/data", Readable.from(["anew"]), never())).toEqual({ bytes: 4 });
  });

  it("killed in the middle of a get: the stream fails, it does not end", async () => {
    const reading = await store.get("old/data", never());
    const read = (async () => {
      for await (const _chunk of reading) if (server.processId() !== 0) await server.kill();
    })();
    await expect(read).rejects.toMatchObject(unavailable);
    await server.start();
  });

  it("stopped in the middle of a put: an error after the bound", async () => {
    const body = bodyInterruptedBy(server.options("broken"), () => signal("SIGSTOP"));
    await expect(store.put("stopped/data", body, never())).rejects.toMatchObject(unavailable);
    signal("SIGCONT");
    expect(await keysOf(store, "stopped/")).toEqual([]);
    // The abort of the upload may have waited at the stopped server, or not.
    expect(await store.removeLeftovers(new Date())).toBeLessThanOrEqual(1);
    expect(await store.removeLeftovers(new Date())).toBe(0);
  });

  it("stopped in the middle of a get: an error after the bound", async () => {
    const reading = await store.get("old/data", never());
    const read = (async () => {
      for await (const _chunk of reading) signal("SIGSTOP");
    })();
    await expect(read).rejects.toMatchObject(unavailable);
    signal("SIGCONT");
  });

  it("stopped: health hears of it within its two seconds", async () => {
    const patient = new S3Store(server.options("broken"));
    signal("SIGSTOP");
    const begin = performance.now();
    await expect(patient.probe()).rejects.toMatchObject(unavailable);
    expect(performance.now() - begin).toBeLessThan(4_000);
    signal("SIGCONT");
    await patient.probe();
    patient.close();
  });

  it("away: every operation fails, and none waits", async () => {
    const away = new S3Store({
      ...server.options("away"),
      endpoint: `http://127.0.0.1:${await freePort()}`,
      bounds: short,
    });
    const body = Readable.from([randomBytes(9 * mebibyte), randomBytes(mebibyte)], { objectMode: true });
    await expect(away.put("a/data", body, never())).rejects.toMatchObject(unavailable);
    expect(body.destroyed).toBe(true);
    await expect(away.get("a/data", never())).rejects.toMatchObject(unavailable);
    await expect(away.stat("a/data")).rejects.toMatchObject(unavailable);
    await expect(keysOf(away, "")).rejects.toMatchObject(unavailable);
    await expect(away.remove("a/data")).rejects.toMatchObject(unavailable);
    await expect(away.removeLeftovers(new Date())).rejects.toMatchObject(unavailable);
    await expect(away.probe()).rejects.toMatchObject(unavailable);
  });
});

describeWithS3("a way to the server that spoils requests", () => {
  let server: S3Server;
  let proxy: FaultyProxy;
  let store: S3Store;
  beforeAll(async () => {
    server = await startS3();
    proxy = await startFaultyProxy(server.options("spoilt").endpoint);
    store = new S3Store({ ...server.options("spoilt"), endpoint: proxy.endpoint, bounds: short });
    await store.probe();
  });
  afterEach(() => proxy?.spoil(() => "none"));
  afterAll(async () => {
    store?.close();
    await proxy?.stop();
    await server?.stop();
  });

  const twoParts = () => Readable.from([randomBytes(9 * mebibyte)], { objectMode: true });
  const once = (pattern: RegExp, fault: Parameters<FaultyProxy["spoil"]>[0]) => {
    let left = 1;
    proxy.spoil((line) => (pattern.test(line) && left-- > 0 ? fault(line) : "none"));
  };

  it.each([
    ["the beginning of an upload", /^POST .*uploads/],
    ["a part", /^PUT .*partNumber=1/],
    ["the last part", /^PUT .*partNumber=2/],
    ["the end of an upload", /^POST .*uploadId=/],
  ])("whose answer to %s is lost: the object is there, whole", async (_what, pattern) => {
    once(pattern, () => "lose the answer");
    const key = `lost/${pattern.source.length}`;
    expect(await store.put(key, twoParts(), never())).toEqual({ bytes: 9 * mebibyte });
    expect((await store.stat(key))?.bytes).toBe(9 * mebibyte);
    await store.removeLeftovers(new Date());
  });

  it.each([500, 503, 429])(
    "that answers %d once: the request is repeated, and the line stays free",
    async (status) => {
      once(/^PUT /, () => ({ status, body: "<Error><Code>SlowDown</Code></Error>" }));
      expect(await store.put("busy/data", Readable.from(["x"]), never())).toEqual({ bytes: 1 });
      once(/^HEAD /, () => ({ status }));
      expect((await store.stat("busy/data"))?.bytes).toBe(1);
    },
  );

  it("that always answers 503: an error after as many tries as are allowed", async () => {
    proxy.spoil(() => ({ status: 503 }));
    proxy.seen.length = 0;
    await expect(store.stat("busy/data")).rejects.toMatchObject(unavailable);
    expect(proxy.seen).toHaveLength(2);
  });

  it("whose end of an upload is refused: an error, nothing there, no leftover", async () => {
    proxy.spoil((line) => (/^POST .*uploadId=/.test(line) ? { status: 503 } : "none"));
    await expect(store.put("refused/data", twoParts(), never())).rejects.toMatchObject(unavailable);
    expect(await store.stat("refused/data")).toBeUndefined();
    expect(await store.removeLeftovers(new Date())).toBe(0);
  });

  it("that answers an error under 200 to the end of an upload: an error, nothing there", async () => {
    const body = "<Error><Code>InternalError</Code><Message>We failed.</Message></Error>";
    proxy.spoil((line) => (/^POST .*uploadId=/.test(line) ? { status: 200, body } : "none"));
    await expect(store.put("late/data", twoParts(), never())).rejects.toMatchObject(unavailable);
    expect(await store.stat("late/data")).toBeUndefined();
    expect(await store.removeLeftovers(new Date())).toBe(0);
  });

  it("that cuts an object short, or stalls in it: its stream fails", async () => {
    await store.put("short/data", twoParts(), never());
    for (const fault of ["cut the answer", "stall the answer"] as const) {
      proxy.spoil(() => fault);
      const reading = await store.get("short/data", never());
      await expect(buffer(reading)).rejects.toMatchObject(unavailable);
    }
  });

  it("that never answers: an error within the bound", async () => {
    proxy.spoil(() => "hang");
    await expect(store.stat("short/data")).rejects.toMatchObject(unavailable);
    await expect(store.get("short/data", never())).rejects.toMatchObject(unavailable);
    await expect(store.put("hang/data", twoParts(), never())).rejects.toMatchObject(unavailable);
  });

  it("that answers something else: HTML, nothing, lists without end, more than fits", async () => {
    const list = (token: string) =>
      `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>${token}</NextContinuationToken></ListBucketResult>`;
    for (const body of ["<html>Please sign in</html>", "", list("again")]) {
      proxy.spoil(() => ({ status: 200, body }));
      await expect(keysOf(store, "")).rejects.toMatchObject(unavailable);
    }
    proxy.spoil(() => ({ status: 200, body: " ".repeat(5 * mebibyte) }));
    // A connection that the answers before it broke may be met first: that is "unavailable" too.
    await eventually(() =>
      keysOf(store, "").then(
        () => false,
        (error: unknown) => String(error).includes("too long"),
      ),
    );
    proxy.spoil(() => ({ status: 403, body: "<html>Please sign in</html>" }));
    await expect(keysOf(store, "")).rejects.toMatchObject({ fault: "refused" });
  });

  it("aborted while a request is under way: the signal's reason, and the object is not there", async () => {
    const abort = new AbortController();
    const reason = new Error("no longer wanted");
    proxy.spoil((line) => {
      if (!/partNumber=2/.test(line)) return "none";
      abort.abort(reason);
      return "hang";
    });
    await expect(store.put("midway/data", twoParts(), abort.signal)).rejects.toBe(reason);
    expect(await store.stat("midway/data")).toBeUndefined();
    expect(await store.removeLeftovers(new Date())).toBe(0);
  });

  it("a part that fails ends a put whose source is silent", async () => {
    proxy.spoil((line) => (/partNumber=1/.test(line) ? { status: 403 } : "none"));
    const body = new Readable({ read() {} });
    body.push(randomBytes(9 * mebibyte));
    await expect(store.put("silent/data", body, never())).rejects.toMatchObject({ fault: "refused" });
    expect(body.destroyed).toBe(true);
  });
});
