// Several processes on one database: one of them speaks with the messenger, another follows when it dies or stops, and no
// update and no event is lost or acts twice on the way.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { join } from "node:path";
import { type BotApi, failure, sentTo, startBotApi } from "../../support/bot-api.ts";
import { linkChat, newChat, say, statusOf, subscribeTo } from "../../support/messenger.ts";
import {
  addressOf,
  callApi,
  type CallOptions,
  eventually,
  type RunningProcess,
  runProcess,
  startService,
  type TestService,
} from "../../support/service.ts";

let api: BotApi;
let service: TestService;
let token: string;
/** All that still run, and their addresses. */
const processes = new Map<RunningProcess, string>();

const speaks = /"this process speaks with the messenger"/g;
const speaksNoMore = /"this process no longer speaks with the messenger"/g;
const isSpeaking = (running: RunningProcess): boolean =>
  (running.output().match(speaks) ?? []).length > (running.output().match(speaksNoMore) ?? []).length;
const leader = (): RunningProcess | undefined => [...processes.keys()].find(isSpeaking);

/** Through whichever process still runs. */
const anyone = {
  call(method: string, path: string, options?: CallOptions) {
    const [url = ""] = processes.values();
    return callApi(url, method, path, options);
  },
};

beforeAll(async () => {
  api = await startBotApi();
  service = await startService(api.settings);
  processes.set(service.process, service.url);
  for (const name of ["second", "third"]) {
    const running = runProcess({ ...service.settings, DATA_DIR: join(service.database.folder, name) });
    processes.set(running, await addressOf(running));
  }
  token = await service.signIn("admin");
  await eventually(async () => (await statusOf(service, token)).messenger === "ok");
});
afterAll(async () => {
  for (const running of processes.keys()) await running.stop();
  await service.stop();
  await api.stop();
});

describe("three processes", () => {
  it("have one that speaks", async () => {
    expect([...processes.keys()].filter(isSpeaking)).toHaveLength(1);
    expect(api.polling()).toBeLessThanOrEqual(1);
  });

  it("another follows within a minute when it is killed, and nothing is lost or done twice", async () => {
    const chatId = await linkChat(anyone, api, token);
    await subscribeTo(anyone, token, ["*"]);
    const first = leader();
    if (first === undefined) throw new Error("nobody speaks");
    // What is taken in but not confirmed comes again.
    const silent = newChat();
    api.write(silent, "/status");
    await eventually(async () => sentTo(api, silent).length === 1);
    processes.delete(first);
    await first.stop("SIGKILL");
    const killedAt = Date.now();
    const later = newChat();
    api.write(later, "/status");
    await service.database.owner.query(
      `insert into events (tenant_id, kind, payload)
       select id, 'backup.failed', '{"backup_id": 77}' from tenants where subdomain = 'demo'`,
    );
    await eventually(async () => leader() !== undefined);
    await eventually(async () => sentTo(api, later).length === 1);
    await eventually(
      async () => sentTo(api, chatId).filter((text) => text.includes("backup_id: 77")).length === 1,
    );
    expect(Date.now() - killedAt).toBeLessThan(60_000);
    expect(await say(api, newChat(), "/status")).toContain("not linked");
    expect(sentTo(api, silent)).toHaveLength(1);
    expect(sentTo(api, later)).toHaveLength(1);
    const { rows } = await service.database.owner.query(
      "select update_id from messenger_updates group by bot, update_id having count(*) > 1",
    );
    expect(rows).toEqual([]);
    await eventually(async () => (await statusOf(anyone, token)).messenger === "ok");
  });

  it("one that stops in order is followed at once", async () => {
    const second = leader();
    if (second === undefined) throw new Error("nobody speaks");
    processes.delete(second);
    const stoppedAt = Date.now();
    expect(await second.stop()).toBe(0);
    expect(Date.now() - stoppedAt).toBeLessThan(8_000);
    await eventually(async () => leader() !== undefined);
    expect(await say(api, newChat(), "/status")).toContain("not linked");
  });

  it("a conflict with a stranger's polling is waited out", async () => {
    let conflicts = 0;
    api.trouble = (method) =>
      method === "getUpdates" && ++conflicts <= 2
        ? failure(409, "Conflict: terminated by other getUpdates request")
        : undefined;
    expect(await say(api, newChat(), "/status")).toContain("not linked");
    await eventually(async () => conflicts >= 3);
    api.trouble = () => undefined;
    expect(await say(api, newChat(), "/status")).toContain("not linked");
    await eventually(async () => (await statusOf(anyone, token)).messenger === "ok");
  });

  it("while PostgreSQL was away updates waited, and came once", async () => {
    const { owner } = service.database;
    const chatId = newChat();
    // Locked away for a while instead of stopped, so that the other tests keep their database.
    await owner.query("begin; lock table messenger_updates in access exclusive mode");
    api.write(chatId, "/status");
    await eventually(async () => {
      const text = "select count(*)::integer as n from pg_locks where not granted";
      return (await owner.query(text)).rows[0].n > 0;
    });
    expect(sentTo(api, chatId)).toEqual([]);
    expect(api.pending()).toBeGreaterThan(0);
    await leader()?.printed(/updates wait for the database/);
    await owner.query("rollback");
    await eventually(async () => sentTo(api, chatId).length === 1);
    await eventually(async () => api.pending() === 0);
    expect(sentTo(api, chatId)).toHaveLength(1);
  });
});
