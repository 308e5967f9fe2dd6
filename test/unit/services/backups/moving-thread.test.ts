// The thread that moves the bytes of archives: what it is asked comes back as if it had been done here, failures too; it ends
// what is not wanted any more, and its death costs no more than the work that ran in it.
import { createSecretKey, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { OpenArchive } from "../../../../services/backups/archive/open-manifest.ts";
import { failureFrom } from "../../../../services/backups/failure-from.ts";
import type { ThreadSettings } from "../../../../services/backups/moving/across.ts";
import { MovingThread } from "../../../../services/backups/moving/moving-thread.ts";
import { readConfig } from "../../../../host/settings/config.ts";
import { storeSettings } from "../../../../mixins/store/store-of.ts";

const never = () => new AbortController().signal;
const id = `bk_${"0".repeat(32)}`;
const data = createSecretKey(randomBytes(32));
// Of a manifest, what checking the object looks at.
const archive = {
  data,
  manifest: {
    contents: { backup_id: id, tenant_id: 1, type: "tenant", tables: [] },
    file: { bytes: 10, sha256: "" },
  },
} as unknown as OpenArchive;
const taken = { backupId: id, type: "tenant", tenantId: 1, installation: "-", key: data } as const;

let folder: string;
/** Takes connections and says nothing, as a server that hangs. */
let silent: Server;
const sockets: Socket[] = [];
let thread: MovingThread;
const open = () => {
  const { port } = silent.address() as AddressInfo;
  const store = storeSettings(readConfig({ DATA_DIR: folder }));
  return new MovingThread({ databaseUrl: `postgresql://nobody@127.0.0.1:${port}/none`, store }, {});
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "records-moving-"));
  silent = createServer((socket) => sockets.push(socket.on("error", () => {})));
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  thread = open();
});
afterAll(async () => {
  await thread?.close();
  for (const socket of sockets) socket.destroy();
  silent?.close();
  await rm(folder, { recursive: true, force: true });
});

const failing = (work: Promise<unknown>) => work.then(() => undefined, failureFrom);

describe("what fails in the thread", () => {
  it("is the same failure here: an object that is gone, one that is damaged", async () => {
    expect(await failing(thread.check(archive, () => {}, never()))).toMatchObject({
      code: "archive_missing",
    });
    await mkdir(join(folder, "backups", "backups", id), { recursive: true });
    await writeFile(join(folder, "backups", "backups", id, "data"), randomBytes(100));
    expect(await failing(thread.check(archive, () => {}, never()))).toMatchObject({
      code: "archive_damaged",
    });
  });
  it("ends by the caller's own reason, and the thread goes on", async () => {
    const ending = new AbortController();
    const reason = new Error("the lease ran out");
    const connected = once(silent, "connection");
    const work = thread.write(taken, () => {}, ending.signal);
    await connected;
    ending.abort(reason);
    await expect(work).rejects.toBe(reason);
    expect(await failing(thread.check(archive, () => {}, never()))).toMatchObject({
      code: "archive_damaged",
    });
  });
});

describe("a thread that dies", () => {
  it("fails what ran in it as what is away, and whoever comes next is served", async () => {
    // Without settings its program ends as it begins.
    const dying = new MovingThread(undefined as unknown as ThreadSettings, {});
    const lost = { code: "thread_lost", passing: true };
    expect(await failing(dying.check(archive, () => {}, never()))).toMatchObject(lost);
    expect(dying.isUp).toBe(false);
    expect(await failing(dying.check(archive, () => {}, never()))).toMatchObject(lost);
    await dying.close();
  });
  it("with its process fails what runs, and takes nothing more", async () => {
    const closing = open();
    const connected = once(silent, "connection");
    const work = failing(closing.write(taken, () => {}, never()));
    await connected;
    await closing.close();
    expect(await work).toMatchObject({ code: "thread_lost" });
    expect(await failing(closing.check(archive, () => {}, never()))).toMatchObject({ code: "thread_lost" });
  });
  it("and one that is not needed does not begin", () => {
    const idle = open();
    expect(idle.isUp).toBe(false);
  });
});
