// Checkpoints over restarts, with other keys, folders and addresses than before, and with rows that somebody else has put there.
import { createPublicKey, verify } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { hashOf, signDocument } from "../../services/audit/checkpoints/checkpoint.rules.ts";
import { SigningKey } from "../../services/audit/checkpoints/signing-key.ts";
import { eventually, startDatabase, type TestDatabase, testSettings } from "../support/service.ts";
import { type Receiver, startReceiver } from "../support/webhooks.ts";
import {
  checkpoint,
  documentsIn,
  filesIn,
  type Line,
  linesIn,
  type Node,
  prove,
  startNode,
} from "../support/checkpoint-scene.ts";

const secretA = "W6hTn1QyXo0SvIbKzGjMlPdFr3CuAi7R";
const secretB = "k3Vq9ZtB7wLx2NfRmYp5HsDcJgUa8Ee4";

let database: TestDatabase;
let receiver: Receiver;
let node: Node | undefined;
let folder: string;
let made = 0;

beforeAll(async () => {
  [database, receiver] = await Promise.all([startDatabase(), startReceiver()]);
});
afterAll(async () => {
  await receiver.stop();
  await database.stop();
});
beforeEach(() => {
  folder = join(database.folder, `checkpoints-${++made}`);
});
afterEach(async () => {
  await node?.stop();
  node = undefined;
  receiver.received.length = 0;
  receiver.answer = (_received, response) => void response.end("ok");
  await database.owner.query(
    "delete from audit_checkpoints; delete from audit_sinks; delete from audit_signing_keys",
  );
  await database.owner.query("delete from graphile_worker._private_jobs");
});

const start = async (settings: Record<string, string> = {}) => {
  await node?.stop();
  node = await startNode(database, {
    AUDIT_CHECKPOINT_DIR: folder,
    AUDIT_SIGNING_KEY: secretA,
    WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8",
    ...settings,
  });
};
const write = (tenantId: number, count = 1) =>
  database.owner.query(
    "insert into audit_entries (tenant_id, action, outcome) select $1, 'test.bulk', 'ok' from generate_series(1, $2)",
    [tenantId, count],
  );
/** As many documents as that, one after the other. */
const sign = async (documents: number) => {
  for (let i = 0; i < documents; i++) {
    await write(7);
    await checkpoint({ database });
  }
};
const rows = async (): Promise<Line[]> =>
  (await database.owner.query("select document from audit_checkpoints order by number")).rows.map(
    ({ document }) => JSON.parse(document),
  );
/** A log as the export has it, one page. */
const exported = async (tenantId: number): Promise<string> => {
  const { rows: entries } = await database.owner.query(
    `select json_agg(json_build_object('id', id, 'seq', seq, 'tenant_id', tenant_id, 'user_id', user_id, 'action', action,
       'target_type', target_type, 'target_id', target_id, 'outcome', outcome, 'changes', changes, 'ip', ip,
       'user_agent', user_agent, 'request_id', request_id, 'created_at',
       to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'prev_hash', encode(prev_hash, 'hex'),
       'hash', encode(hash, 'hex')) order by seq) as entries from audit_entries where tenant_id = $1`,
    [tenantId],
  );
  const path = join(database.folder, `export-${made}.json`);
  await writeFile(path, JSON.stringify({ entries: entries[0].entries }));
  return path;
};

describe("another key", () => {
  it("goes on where the one before ended, and who knows both proves all", async () => {
    await start();
    await sign(2);
    await start({ AUDIT_SIGNING_KEY: secretB });
    await sign(2);
    const documents = await documentsIn(folder);
    const [a, b] = [new SigningKey(secretA).id, new SigningKey(secretB).id];
    expect(documents.map(({ key_id: id }) => id)).toEqual([a, a, b, b]);
    expect(documents.map(({ heads }) => heads.every(({ verified }) => verified))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    const files = { checkpoints: await filesIn(folder, ".jsonl"), exports: [await exported(7)] };
    const keys = await filesIn(folder, ".pem");
    expect(keys).toHaveLength(2);
    expect((await prove({ ...files, keys })).code).toBe(0);
    const old = keys.filter((path) => path.includes(a));
    expect(await prove({ ...files, keys: old })).toMatchObject({
      code: 1,
      says: { checkpoints: "3 is not signed by a key that was named" },
    });
  });

  it("is derived from BOOT_SECRET where none is given", async () => {
    await start({ AUDIT_SIGNING_KEY: "" });
    await sign(1);
    const [first] = await documentsIn(folder);
    const { BOOT_SECRET = "" } = testSettings(database);
    expect(first?.key_id).toBe(new SigningKey(BOOT_SECRET).id);
  });
});

describe("a folder", () => {
  it("that is new is given what the database still has", async () => {
    await start();
    await sign(3);
    const before = await linesIn(folder);
    folder = `${folder}-new`;
    await start();
    await sign(1);
    expect((await linesIn(folder)).slice(0, -1)).toEqual(before.slice(-3));
  });

  it("that cannot be written to stops nothing, and has all of it later", async () => {
    await writeFile(folder, "in the way");
    await start({ AUDIT_CHECKPOINT_URL: receiver.url });
    await sign(2);
    expect(receiver.received).toHaveLength(2);
    expect((await rows()).flatMap(({ heads }) => heads).every(({ verified }) => verified)).toBe(true);
    await rm(folder);
    await sign(1);
    expect((await documentsIn(folder)).map(({ number }) => number)).toEqual([1, 2, 3]);
  });

  it("may be none", async () => {
    await start({ AUDIT_CHECKPOINT_DIR: "off", AUDIT_CHECKPOINT_URL: receiver.url });
    await sign(2);
    expect(receiver.received).toHaveLength(2);
    await expect(filesIn(folder, "")).rejects.toThrow("ENOENT");
  });
});

describe("an address", () => {
  const numbers = () => receiver.received.map(({ body }) => JSON.parse(body).number);

  it("is posted each document as it is, signed as Standard Webhooks sign with Ed25519", async () => {
    await start({ AUDIT_CHECKPOINT_URL: `${receiver.url}/checkpoints?token=secret` });
    await sign(2);
    expect(numbers()).toEqual([1, 2]);
    expect(receiver.received.map(({ body }) => body)).toEqual(await linesIn(folder));
    const [pem = ""] = await filesIn(folder, ".pem");
    const key = createPublicKey(await readFile(pem));
    for (const { path, headers, body } of receiver.received) {
      expect(path).toBe("/checkpoints?token=secret");
      const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signature } = headers;
      const text = Buffer.from(`${id}.${time}.${body}`);
      expect(verify(null, text, key, Buffer.from(String(signature).replace("v1a,", ""), "base64"))).toBe(
        true,
      );
      expect(Math.abs(Number(time) - Date.now() / 1000)).toBeLessThan(60);
    }
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(2);
  });

  it("that refuses is offered the same documents until it takes them, in their order", async () => {
    receiver.answer = (_received, response) => void response.writeHead(500).end();
    await start({ AUDIT_CHECKPOINT_URL: receiver.url });
    await sign(3);
    expect(new Set(numbers())).toEqual(new Set([1]));
    // One more run is due in a minute, however often it has failed.
    const { rows: due } = await database.owner.query(
      "select run_at > now() + interval '30 seconds' as later from graphile_worker.jobs where key = 'audit.checkpoint:again'",
    );
    expect(due).toEqual([{ later: true }]);
    receiver.received.length = 0;
    receiver.answer = (_received, response) => void response.writeHead(204).end();
    await checkpoint({ database });
    expect(numbers()).toEqual([1, 2, 3]);
    await checkpoint({ database });
    expect(numbers()).toEqual([1, 2, 3]);
  });

  it("that is set later is given what is still there", async () => {
    await start();
    await sign(2);
    await start({ AUDIT_CHECKPOINT_URL: receiver.url });
    await checkpoint({ database });
    expect(numbers()).toEqual([1, 2]);
  });

  it("is posted what was made, whatever the database says that it has", async () => {
    await start({ AUDIT_CHECKPOINT_URL: receiver.url, AUDIT_CHECKPOINT_DIR: "off" });
    const { owner } = database;
    // What was never made cannot have been taken.
    await owner.query("insert into audit_sinks (name, last_number) values ('address', 9000000000000000)");
    await sign(2);
    expect(numbers()).toEqual([1, 2]);
    // Said in the very transaction that makes it, so before anybody could post it.
    await owner.query(`create function lie() returns trigger language plpgsql as $$ begin
        update audit_sinks set last_number = new.number; return null; end $$;
      create trigger lie after insert on audit_checkpoints for each row execute function lie()`);
    try {
      await sign(2);
      expect(numbers()).toEqual([1, 2, 3, 4]);
      // What it refuses is offered again, though the database goes on saying that it has it.
      receiver.answer = (_received, response) => void response.writeHead(500).end();
      await sign(1);
      receiver.received.length = 0;
      receiver.answer = (_received, response) => void response.writeHead(204).end();
      await checkpoint({ database });
      expect(numbers()).toEqual([5]);
      await checkpoint({ database });
      expect(numbers()).toEqual([5]);
    } finally {
      await owner.query("drop trigger lie on audit_checkpoints; drop function lie");
    }
  });

  it("inside the network is refused, unless the operator allows it", async () => {
    await start({ AUDIT_CHECKPOINT_URL: receiver.url, WEBHOOK_ALLOW_SUBNETS: "" });
    await sign(1);
    expect(receiver.received).toEqual([]);
    expect(await documentsIn(folder)).toHaveLength(1);
  });
});

describe("rows that somebody else has put into the database", () => {
  const plant = (number: number, line: string) =>
    database.owner.query(
      "insert into audit_checkpoints (number, document, tenant_ids) values ($1, $2, '{}')",
      [number, line],
    );

  it("are taken out and reach nobody", async () => {
    await start({ AUDIT_CHECKPOINT_URL: receiver.url });
    await sign(1);
    const [line = ""] = await linesIn(folder);
    const facts = { v: 1 as const, number: 2, at: new Date().toISOString(), installation: "x", heads: [] };
    await plant(2, signDocument({ ...facts, previous: hashOf(line) }, new SigningKey(secretB)));
    await plant(3, line);
    await plant(4, "no JSON");
    await sign(1);
    const documents = await documentsIn(folder);
    expect(documents.map(({ number, previous }) => [number, previous])).toEqual([
      [1, null],
      [2, hashOf(line)],
    ]);
    expect(receiver.received.map(({ body }) => JSON.parse(body).number)).toEqual([1, 2]);
    expect((await rows()).map(({ number }) => number)).toEqual([1, 2]);
  });
});

describe("several processes", () => {
  const settings = () => ({
    AUDIT_SIGNING_KEY: secretA,
    AUDIT_CHECKPOINT_DIR: folder,
    WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8",
  });
  const chain = async (where = folder) => {
    // Two that are at it at once may both add a document: it is the same.
    const lines = [...new Set(await linesIn(where))];
    return lines.map((line, at) => {
      const { number, previous } = JSON.parse(line);
      return [number - at, previous === (at === 0 ? null : hashOf(lines[at - 1] ?? ""))];
    });
  };
  let second: Node | undefined;
  afterEach(async () => {
    await second?.stop();
    second = undefined;
  });

  it("that share a folder make one chain of documents, whichever of them is at it", async () => {
    node = await startNode(database, { ...settings(), NODE_ID: "first" });
    second = await startNode(database, { ...settings(), NODE_ID: "second" });
    for (let round = 0; round < 5; round++) {
      await write(7, 50);
      // Without the queue that keeps them apart, so that two are at it at once.
      await database.owner.query(
        "select graphile_worker.add_job('audit.checkpoint') from generate_series(1, 4)",
      );
      await checkpoint({ database });
    }
    const found = await chain();
    expect(found.length).toBeGreaterThanOrEqual(5);
    expect(found).toEqual(found.map(() => [1, true]));
    const files = { keys: await filesIn(folder, ".pem"), checkpoints: await filesIn(folder, ".jsonl") };
    expect((await prove({ ...files, exports: [await exported(7)] })).code).toBe(0);
  });

  it("with a folder each have all documents there when they have had a turn", async () => {
    const other = `${folder}-other`;
    node = await startNode(database, { ...settings(), NODE_ID: "first" });
    await sign(3);
    await node.stop();
    node = await startNode(database, { ...settings(), NODE_ID: "second", AUDIT_CHECKPOINT_DIR: other });
    await sign(2);
    expect((await linesIn(other)).slice(0, 3)).toEqual(await linesIn(folder));
    expect(await chain(other)).toEqual(Array.from({ length: 5 }, () => [1, true]));
  });
});

describe("documents in the database", () => {
  const age = (days: number) =>
    database.owner.query("update audit_checkpoints set created_at = now() - make_interval(days => $1)", [
      days,
    ]);
  const sweep = async () => {
    await database.owner.query("select graphile_worker.add_job('audit.sweep')");
    await eventually(async () => {
      const { rows: left } = await database.owner.query(
        "select from graphile_worker.jobs where task_identifier = 'audit.sweep'",
      );
      return left.length === 0;
    });
    return (await rows()).map(({ number }) => number);
  };

  it("die after thirty days, but for the last one", async () => {
    await start();
    await sign(3);
    await age(29);
    expect(await sweep()).toEqual([1, 2, 3]);
    await age(31);
    expect(await sweep()).toEqual([3]);
  });

  it("wait for an address that has not taken them, for a year", async () => {
    await start({ AUDIT_CHECKPOINT_URL: receiver.url });
    await sign(1);
    receiver.answer = (_received, response) => void response.writeHead(503).end();
    await sign(2);
    await age(31);
    expect(await sweep()).toEqual([2, 3]);
    await age(366);
    expect(await sweep()).toEqual([3]);
  });
});

describe("many logs, and long ones", () => {
  it("go into several documents of 500 heads, signed in one run", async () => {
    await start();
    await sign(1);
    const before = (await documentsIn(folder)).length;
    await database.owner.query(
      "insert into audit_entries (tenant_id, action, outcome) select n, 'test.many', 'ok' from generate_series(1001, 2203) n",
    );
    await checkpoint({ database });
    const documents = (await documentsIn(folder)).slice(before);
    expect(documents.flatMap(({ heads }) => heads)).toHaveLength(1_203);
    for (const { heads } of documents) expect(heads.length).toBeLessThanOrEqual(500);
    expect(
      (
        await prove({
          keys: await filesIn(folder, ".pem"),
          checkpoints: await filesIn(folder, ".jsonl"),
          exports: [await exported(1500)],
        })
      ).code,
    ).toBe(0);
  });
});
