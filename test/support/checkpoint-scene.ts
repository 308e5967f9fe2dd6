// What tests of checkpoints do: let the job run, read the folder, forge as the database's owner could, and ask the program that
// is no part of the service.
import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ServiceBroker, type ServiceSchema } from "moleculer";
import { assemble } from "../../moleculer.config.ts";
import audit from "../../services/audit/audit.service.ts";
import { readConfig } from "../../host/settings/config.ts";
import webhooks from "../../services/webhooks/webhooks.service.ts";
import { eventually, type TestDatabase, type TestService, testSettings } from "./service.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");

export const folderOf = (service: Pick<TestService, "database">): string =>
  join(service.database.folder, "data", "checkpoints");

/** Lets a run begin and end, with what follows from it. */
export async function checkpoint({ database: { owner } }: Pick<TestService, "database">): Promise<void> {
  await owner.query("select graphile_worker.add_job('audit.checkpoint', queue_name := 'audit.checkpoint')");
  await eventually(async () => {
    const { rows } = await owner.query(
      "select from graphile_worker.jobs where task_identifier = 'audit.checkpoint' and run_at < now() + interval '5 seconds'",
    );
    return rows.length === 0;
  });
}

export interface Line {
  number: number;
  at: string;
  previous: string | null;
  installation: string;
  key_id: string;
  signature: string;
  heads: { tenant_id: number; seq: number; hash: string; verified: boolean }[];
}

export const filesIn = async (folder: string, suffix: string): Promise<string[]> =>
  (await readdir(folder))
    .filter((name) => name.endsWith(suffix))
    .sort()
    .map((name) => join(folder, name));

/** The whole lines of all files, as they stand there. */
export async function linesIn(folder: string): Promise<string[]> {
  const texts = await Promise.all((await filesIn(folder, ".jsonl")).map((path) => readFile(path, "utf8")));
  return texts.flatMap((text) => text.split("\n").filter((line) => line.endsWith(',"v":1}')));
}

export const documentsIn = async (folder: string): Promise<Line[]> =>
  (await linesIn(folder)).map((line) => JSON.parse(line));

/** The newest head of a tenant in the folder. */
export async function newestHead(folder: string, tenantId: number) {
  const heads = (await documentsIn(folder)).flatMap(({ heads }) => heads);
  return heads.findLast(({ tenant_id: id }) => id === tenantId);
}

/** The whole log by the interface, page by page, a line each. */
export async function exportLog(service: TestService, token: string, query = ""): Promise<string> {
  const path = join(service.database.folder, `export-${Math.random()}.jsonl`);
  let text = "";
  for (let after: number | null = 0; after !== null; ) {
    const page = await service.call("GET", `/api/admin/audit/export?after_seq=${after}&limit=7${query}`, {
      token,
    });
    if (page.status !== 200) throw new Error(`export: ${page.status}`);
    text += `${JSON.stringify(page.body)}\n`;
    after = page.body.next_after_seq;
  }
  await writeFile(path, text);
  return path;
}

export interface Proof {
  code: number;
  /** What it says of each log. */
  says: Record<string, string>;
}

/** docs/check-audit.mjs in a process of its own, with nothing of the service around it. */
export async function prove(files: {
  keys: readonly string[];
  checkpoints: readonly string[];
  exports: readonly string[];
}): Promise<Proof> {
  const { keys, checkpoints, exports } = files;
  const given = ["--key", ...keys, "--checkpoints", ...checkpoints, "--export", ...exports];
  const program = join(root, "docs/check-audit.mjs");
  const { code, stdout } = await run(process.execPath, [program, ...given], { cwd: "/", env: {} }).then(
    ({ stdout: said }) => ({ code: 0, stdout: said }),
    (error: { code: number; stdout: string }) => error,
  );
  const says = stdout.split("\n").flatMap((line) => {
    const [name, ...sentence] = line.split(": ");
    return sentence.length === 0 ? [] : [[name ?? "", sentence.join(": ")]];
  });
  return { code, says: Object.fromEntries(says) };
}

/** As the owner of the database, with all that refuses switched off. */
export async function asOwner(
  service: Pick<TestService, "database">,
  ...statements: string[]
): Promise<void> {
  const { owner } = service.database;
  await owner.query("set session_replication_role = replica");
  try {
    for (const statement of statements) await owner.query(statement);
  } finally {
    await owner.query("reset session_replication_role");
  }
}

/** Hashes all of a log anew from `fromSeq` on, the head too: nothing in the database tells what it was before. */
export function rehash(tenantId: number, fromSeq: number): string {
  return `do $$
    declare entry audit_entries; before bytea := decode(repeat('00', 32), 'hex'); last bigint := 0;
    begin
      for entry in select * from audit_entries where tenant_id = ${tenantId} order by seq loop
        last := entry.seq;
        if entry.seq >= ${fromSeq} then
          entry.prev_hash := before;
          entry.hash := sha256(before || convert_to(audit_canonical(entry), 'UTF8'));
          update audit_entries set prev_hash = entry.prev_hash, hash = entry.hash where id = entry.id;
        end if;
        before := entry.hash;
      end loop;
      update audit_heads set seq = last, hash = before where tenant_id = ${tenantId};
    end $$`;
}

export interface Node {
  stop(): Promise<void>;
}

/** A process's audit and webhooks services (and others) in the test's own process, on a database that is there already. */
export async function startNode(
  database: TestDatabase,
  settings: Record<string, string>,
  ...others: ServiceSchema[]
): Promise<Node> {
  const all = { ...testSettings(database), AUDIT_CHECKPOINT_MINUTES: "60", LOG_LEVEL: "silent", ...settings };
  const { options, runtime } = assemble(readConfig(all), () => {});
  const broker = new ServiceBroker(options);
  for (const schema of [audit, webhooks, ...others] as ServiceSchema[]) broker.createService(schema);
  await broker.start();
  return {
    async stop() {
      await broker.stop();
      await runtime.close();
    },
  };
}
