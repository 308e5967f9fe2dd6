// Lines of the log are handed on by the hundred: none may be lost, doubled or torn on the way, and none waits for others.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createLog } from "../../../../host/process/log.ts";
import { levelsOf } from "../../../../services/shared/log-levels.ts";
import { runInContext } from "../../../../services/shared/tracing.ts";
import {
  statementName,
  timed,
  watchSlowStatements,
} from "../../../../services/shared/database/statement-watch.ts";
import { eventually } from "../../../support/service.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "records-log-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const linesOf = async (file: string): Promise<{ n: number }[]> =>
  (await readFile(file, "utf8"))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

it("ten thousand lines arrive whole and in order", async () => {
  const file = join(folder, "many");
  const { log } = createLog("info", file);
  for (let n = 0; n < 10_000; n++) log.info({ n, text: "ä".repeat(n % 300) }, "line");
  await eventually(async () => (await readFile(file, "utf8")).includes('"n":9999,'));
  expect((await linesOf(file)).map(({ n }) => n)).toEqual(Array.from({ length: 10_000 }, (_, n) => n));
});

it("a single line is written without being flushed, and at once when it is", async () => {
  const file = join(folder, "single");
  const { log, flush } = createLog("info", file);
  log.info({ n: 1, password: "canary" }, "line");
  await eventually(async () => (await linesOf(file).catch(() => [])).length === 1);
  expect(await readFile(file, "utf8")).not.toContain("canary");
  log.info({ n: 2 }, "line");
  flush();
  expect((await linesOf(file)).map(({ n }) => n)).toEqual([1, 2]);
});

describe("errors", () => {
  const textOf = async (tell: (log: ReturnType<typeof createLog>["log"]) => void): Promise<string> => {
    const file = join(folder, "errors");
    const { log, flush } = createLog("debug", file);
    tell(log);
    flush();
    // The file is still being opened: what was told is written in one piece when it is open.
    return eventually(async () => {
      const text = await readFile(file, "utf8").catch(() => "");
      return text !== "" && text;
    });
  };
  const jwt = "eyJcanary.eyJcanary.canary";
  const botToken = `123456789:${"canary".repeat(6)}`;
  it.each<[string, Error]>([
    ["an address with a login", new Error("connect postgres://canary:canary@db.example:5432/canary failed")],
    [
      "an address with a token",
      new Error("fetch of https://api.example/x?token=canary and http://b.example/canary"),
    ],
    ["a bot's address", new Error(`cannot reach https://api.telegram.example/bot${botToken}/sendMessage`)],
    ["a bot's token alone", new Error(`unknown ${botToken}`)],
    ["a header", new Error(`refused Bearer canary.canary and Basic canary== and ${jwt}`)],
    [
      "a statement's values",
      Object.assign(new Error("duplicate key (email)=(canary)"), {
        severity: "ERROR",
        code: "23505",
        detail: "Key (email)=(canary) already exists.",
        parameters: ["canary"],
        query: "insert into users values ('canary')",
        where: "canary",
      }),
    ],
    ["what lies beneath", new Error("failed", { cause: new Error("canary") })],
  ])("with %s are told without it, wherever they stand", async (_name, error) => {
    const text = await textOf((log) => {
      log.error({ err: error }, "failed");
      log.error(error);
      log.error(error, "failed");
      levelsOf(log).child("jobs").warn(error);
    });
    expect(text).not.toContain("canary");
    expect(text.trim().split("\n")).toHaveLength(4);
    expect(text).toMatch(/"err":\{/);
  });
  it("keep what an operator needs", async () => {
    const text = await textOf((log) => log.error(new Error("connect to nats://u:p@bus.example:4222 failed")));
    expect(text).toContain("connect to nats://bus.example:4222 failed");
  });
});

describe("levels", () => {
  it("change for all modules or for one, and never below what a module may tell", async () => {
    const file = join(folder, "levels");
    const { log, flush } = createLog("info", file);
    const levels = levelsOf(log);
    const [access, bus] = [levels.child("access"), levels.child("bus", { atLeast: "warn" })];
    const say = (n: number) => {
      for (const each of [log, access, bus]) each.debug({ n }, "line");
    };
    say(1);
    expect(levels.set("debug", "access")).toBe(true);
    say(2);
    expect(levels.set("debug")).toBe(true);
    say(3);
    expect(levels.get()).toEqual({ main: "debug", access: "debug", bus: "warn" });
    expect(levels.set("trace", "nothing")).toBe(false);
    expect(levels.set("silent")).toBe(true);
    say(4);
    flush();
    const lines = (await linesOf(file)) as { n: number; mod?: string }[];
    expect(lines.map(({ n, mod }) => [n, mod])).toEqual([
      [2, "access"],
      [3, undefined],
      [3, "access"],
    ]);
  });
});

it("lines bear the request that they are about, across what is awaited, and no other's", async () => {
  const file = join(folder, "trails");
  const { log, flush } = createLog("info", file);
  const one = async (n: number) => {
    await new Promise((resolve) => setImmediate(resolve));
    log.info({ n }, "line");
  };
  await Promise.all(
    [1, 2, 3].map((n) => runInContext({ requestId: `request-${n}`, span: undefined }, () => one(n))),
  );
  log.info({ n: 4 }, "line");
  flush();
  const lines = (await linesOf(file)) as { n: number; requestId?: string }[];
  const expected = [1, 2, 3].map((n) => [n, `request-${n}`]);
  expect(lines.map(({ n, requestId }) => [n, requestId])).toEqual([...expected, [4, undefined]]);
});

describe("slow statements", () => {
  it("are told by name, without text and values, and so many a minute", async () => {
    const file = join(folder, "slow");
    const { log, flush } = createLog("info", file);
    watchSlowStatements(1, log);
    const slowly = () => new Promise<void>((resolve) => setTimeout(resolve, 5));
    for (let n = 0; n < 30; n++)
      await timed("select 'canary' from users where id = $1", "users.slow", slowly);
    await timed("select 1", "users.quick", async () => undefined);
    watchSlowStatements(0, log);
    await timed("select 1", "users.unwatched", slowly);
    flush();
    const lines = (await linesOf(file)) as unknown as { statement: string; durationMs: number }[];
    expect(lines).toHaveLength(20);
    expect(new Set(lines.map(({ statement }) => statement))).toEqual(new Set(["users.slow"]));
    expect(await readFile(file, "utf8")).not.toContain("canary");
  });
  it.each([
    ["select * from users u where id = $1", undefined, "select users"],
    ["insert into audit_entries (a) values ($1)", undefined, "insert audit_entries"],
    ['update "users" set "a" = $1', undefined, "update users"],
    ["with due as (select 1 from deliveries) delete from x", undefined, "with deliveries"],
    ["select add_task($1)", undefined, "select add_task"],
    ["select id from tenants", "composed_12", "select tenants"],
    ["select id from tenants", "tenants.list", "tenants.list"],
    ["'canary'", undefined, "statement"],
  ])("%s, named %s, is %s", (text, name, expected) => {
    expect(statementName(text, name)).toBe(expected);
  });
});
