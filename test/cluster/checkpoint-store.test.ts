// The bucket of the backups as a place for checkpoints: it takes each document once, under a name that nobody writes over, and
// what lies there proves an export without the service.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import { keyOf } from "../../services/backups/keep-checkpoint.ts";
import backups from "../../services/backups/backups.service.ts";
import { describeWithS3 } from "../support/describe-with-s3.ts";
import { type S3Server, startS3 } from "../support/s3.ts";
import { startDatabase, type TestDatabase } from "../support/service.ts";
import { checkpoint, filesIn, linesIn, type Node, prove, startNode } from "../support/checkpoint-scene.ts";

const bucket = "checkpoints-kept";
let database: TestDatabase;
let s3: S3Server;
let node: Node | undefined;
let folder: string;
let settings: Record<string, string>;

const sign = async () => {
  await database.owner.query(
    "insert into audit_entries (tenant_id, action, outcome) values (7, 'test.bulk', 'ok')",
  );
  await checkpoint({ database });
};
/** The objects' names and what is in them, in the order of the names. */
async function kept(): Promise<[name: string, text: string][]> {
  const place = join(s3.folder, bucket, "checkpoints");
  const names = await readdir(place).catch(() => []);
  return Promise.all(
    names.sort().map(async (name) => [name, await readFile(join(place, name), "utf8")] as [string, string]),
  );
}

describeWithS3("checkpoints in the bucket of the backups", () => {
  beforeAll(async () => {
    [database, s3] = await Promise.all([startDatabase(), startS3()]);
    folder = join(database.folder, "checkpoints");
    const { endpoint, accessKey, secretKey, region } = s3.options(bucket);
    settings = {
      AUDIT_CHECKPOINT_DIR: folder,
      AUDIT_SIGNING_KEY: "W6hTn1QyXo0SvIbKzGjMlPdFr3CuAi7R",
      S3_ENDPOINT: endpoint,
      S3_BUCKET: bucket,
      S3_ACCESS_KEY: accessKey,
      S3_SECRET_KEY: secretKey,
      S3_REGION: region,
    };
  });
  afterEach(async () => {
    await node?.stop();
    node = undefined;
  });
  afterAll(async () => {
    await s3?.stop();
    await database?.stop();
  });

  it("are the documents as they are, each once and in order", async () => {
    node = await startNode(database, settings, backups);
    await sign();
    await sign();
    const lines = await linesIn(folder);
    expect(lines).toHaveLength(2);
    const expected = lines.map((document, at) => [
      keyOf({ number: at + 1, document }).replace("checkpoints/", ""),
      `${document}\n`,
    ]);
    expect(await kept()).toEqual(expected);
    await checkpoint({ database });
    expect(await kept()).toEqual(expected);
  });

  it("follow when there is a process for backups again", async () => {
    node = await startNode(database, settings);
    await sign();
    const before = await kept();
    await node.stop();
    node = await startNode(database, settings, backups);
    await checkpoint({ database });
    expect((await kept()).slice(before.length).map(([, text]) => text.trim())).toEqual(
      (await linesIn(folder)).slice(before.length),
    );
    expect((await kept()).length).toBeGreaterThan(before.length);
  });

  it("wait for a store that is away", async () => {
    node = await startNode(database, settings, backups);
    await s3.kill();
    await sign();
    await s3.start();
    await checkpoint({ database });
    expect((await kept()).map(([, text]) => text.trim())).toEqual(await linesIn(folder));
  });

  it("prove an export by docs/check-audit.mjs, and tell of one that was altered", async () => {
    node = await startNode(database, settings, backups);
    await sign();
    const place = join(s3.folder, bucket, "checkpoints");
    const files = { keys: await filesIn(folder, ".pem"), checkpoints: await filesIn(place, ".jsonl") };
    const { rows } = await database.owner.query(
      `select json_build_object('entries', json_agg(json_build_object('id', id, 'seq', seq, 'tenant_id', tenant_id,
         'user_id', user_id, 'action', action, 'target_type', target_type, 'target_id', target_id, 'outcome', outcome,
         'changes', changes, 'ip', ip, 'user_agent', user_agent, 'request_id', request_id,
         'created_at', to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
         'prev_hash', encode(prev_hash, 'hex'), 'hash', encode(hash, 'hex')) order by seq)) as page
       from audit_entries where tenant_id = 7`,
    );
    const path = join(database.folder, "export.jsonl");
    await writeFile(path, JSON.stringify(rows[0].page));
    expect(await prove({ ...files, exports: [path] })).toMatchObject({ code: 0 });
    const { entries } = rows[0].page;
    await writeFile(path, JSON.stringify({ entries: entries.slice(0, -1) }));
    expect((await prove({ ...files, exports: [path] })).code).toBe(1);
  });
});

it("a document of the same number that says something else gets another name", () => {
  const names = ["{}", "{ }"].map((document) => keyOf({ number: 12, document }));
  expect(names[0]).toMatch(/^checkpoints\/0{14}12-[0-9a-f]{32}\.jsonl$/);
  expect(new Set(names).size).toBe(2);
});
