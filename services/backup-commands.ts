// What an operator does with backups by hand, the same at the REPL and as a command: the actions that everybody uses, called
// under the operator's name, and told as lines for people or as JSON for programs.
import { userInfo } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import type { ServiceBroker } from "moleculer";
import type { Actions } from "./shared/bus.ts";
import { Caller } from "./shared/caller.ts";
import { StartError } from "./shared/embedded/start-error.ts";
import { exposedFacts } from "./shared/errors.ts";
import type { ValueOf } from "./shared/params/types.ts";
import type { backupsContract } from "./backups/backups.contract.ts";

export interface Wish {
  what: string;
  id?: string | undefined;
  tenant?: number | undefined;
  yes?: boolean | undefined;
  json?: boolean | undefined;
}

export const usage =
  "backup create [--tenant <id>] | list | status <job_id> | plan <backup_id> | restore <backup_id> --yes | delete <backup_id>";

const pollMs = 500;
const operator = () =>
  new Caller({
    principal: { kind: "operator", name: userInfo().username },
    via: "repl",
    requestId: crypto.randomUUID(),
    ip: null,
    userAgent: null,
  });

type Input<K extends keyof Actions> = Actions[K] extends { input: infer I } ? I : never;
type Result<K extends keyof Actions> = Actions[K] extends { result: infer R } ? R : never;
type Job = ValueOf<(typeof backupsContract)["backups.status"]["result"]>;

/** @returns whether what was wished for was done */
export async function runBackupCommand(
  broker: ServiceBroker,
  wish: Wish,
  tell: (line: string) => void,
): Promise<boolean> {
  const caller = operator();
  const call = <K extends keyof Actions>(name: K, input: Input<K>): Promise<Result<K>> =>
    broker.call(name, input, { meta: { caller } });
  const answer = await doIt(call, wish);
  const failed = "error" in answer && answer.error !== null;
  if (wish.json === true) tell(JSON.stringify(answer));
  else for (const line of linesOf(answer)) tell(line);
  return !failed;
}

type CallIt = <K extends keyof Actions>(name: K, input: Input<K>) => Promise<Result<K>>;
type Answer = Job | Result<"backups.list"> | Result<"backups.restore"> | Result<"backups.remove">;

async function doIt(call: CallIt, { what, id, tenant, yes }: Wish): Promise<Answer> {
  switch (what) {
    case "create":
      return ended(
        call,
        (await call("backups.make", tenant === undefined ? {} : { type: "tenant", tenant_id: tenant }))
          .job_id,
      );
    case "list":
      return call("backups.list", {});
    case "status":
      return call("backups.status", { job_id: named(id) });
    case "plan":
      return planned(call, named(id));
    case "restore": {
      if (yes !== true)
        throw new StartError("A restore changes a tenant: look at `backup plan` first, then say --yes.");
      const { job_id: jobId } = await call("backups.restore", { backup_id: named(id), confirm: true });
      return ended(call, jobId ?? "");
    }
    case "delete":
      return call("backups.remove", { backup_id: named(id) });
    default:
      throw new StartError(usage);
  }
}

function named(id: string | undefined): string {
  if (id === undefined) throw new StartError(usage);
  return id;
}

/** A large tenant's plan takes longer than one call may. */
async function planned(call: CallIt, id: string): Promise<Answer> {
  for (;;) {
    try {
      return await call("backups.restore", { backup_id: id });
    } catch (error) {
      const isUnfinished = error instanceof Error && "type" in error && error.type === "plan_unfinished";
      if (!isUnfinished || exposedFacts(error) === undefined) throw error;
      await pause(pollMs);
    }
  }
}

async function ended(call: CallIt, jobId: string): Promise<Job> {
  for (;;) {
    const job = await call("backups.status", { job_id: jobId });
    if (job.finished_at !== null) return job;
    await pause(pollMs);
  }
}

function linesOf(answer: Answer): string[] {
  if ("items" in answer) {
    const rows = answer.items.map(
      (each) =>
        `${each.backup_id}  ${each.created_at}  ${each.type === "full" ? "full" : `tenant ${each.tenant_id}`}  ${each.reason}  ${each.rows} rows  ${each.size_bytes} bytes`,
    );
    return rows.length === 0 ? ["There is no backup."] : rows;
  }
  if ("deleted" in answer) return ["deleted"];
  if ("plan" in answer && answer.plan !== undefined)
    return answer.plan.tables.map(
      ({ table, add, change, remove }) =>
        `${table.padEnd(16)} ${add} added, ${change} changed, ${remove} removed`,
    );
  if (!("step" in answer)) return [];
  const { kind, status, backup_id: id, rows_done: rows, error } = answer;
  return [`${kind} of ${id} ${status}${error === null ? `, ${rows} rows` : `: ${error}`}`];
}

interface ReplCall {
  options: { tenant?: string; yes?: boolean; json?: boolean };
  what: string;
  id?: string;
}

/** The same at the REPL: `backup list`, `backup plan <backup_id>`, … */
export const backupReplCommand = {
  command: "backup <what> [id]",
  description: usage,
  options: [
    { option: "--tenant <id>", description: "of this tenant alone" },
    { option: "--yes", description: "really restore" },
    { option: "--json", description: "as JSON" },
  ],
  allowUnknownOptions: true,
  async action(broker: ServiceBroker, given: unknown): Promise<void> {
    // Moleculer's REPL gives the parsed words and options, whatever its declaration says.
    const { what, id, options } = given as ReplCall;
    const tenant = options.tenant === undefined ? undefined : Number(options.tenant);
    const say = (line: string) => void process.stdout.write(`${line}\n`);
    try {
      await runBackupCommand(broker, { what, id, tenant, yes: options.yes, json: options.json }, say);
    } catch (error) {
      const isTold = error instanceof StartError || exposedFacts(error) !== undefined;
      say(isTold && error instanceof Error ? error.message : "That went wrong; the log has the reason.");
    }
  },
};
