// Commands on backups. Jobs are durable: an operator who stops waiting can find a job again by its id.
import { backupsContract } from "../../services/backups/backups.contract.ts";
import { exposedFacts } from "../../services/shared/errors.ts";
import { optional } from "../../services/shared/params/modifiers.ts";
import { flag, id } from "../../services/shared/params/rules.ts";
import { command } from "../command.ts";
import type { Result, Session } from "../session.ts";

const { backup_id: backup } = backupsContract["backups.remove"].path;
const { job_id: job } = backupsContract["backups.status"].path;
const detach = optional(flag({ description: "Does not wait for the end" }));
const aloneWith = ["backups", "crypto"] as const;

type Job = Result<"backups.status">;

const failed = (answer: unknown) => ((answer as Partial<Job>).error ?? null) !== null;

function wait(session: Session, jobId: string): Promise<Job> {
  return session.waitFor(
    () => session.call("backups.status", { job_id: jobId }),
    ({ finished_at: finishedAt, step, percent }) => ({ ends: finishedAt !== null, step, percent }),
    `The job goes on in the service: \`backup wait ${jobId}\` follows it.`,
  );
}

/** The plan of a large tenant takes longer than the timeout of a call. */
function plan(session: Session, backupId: string): Promise<Result<"backups.restore">> {
  return session.askUntilReady(
    () => session.call("backups.restore", { backup_id: backupId }),
    (error) => exposedFacts(error) !== undefined && (error as { type?: unknown }).type === "plan_unfinished",
  );
}

const linesOf = (tables: readonly { table: string; add: number; change: number; remove: number }[]) =>
  tables
    .filter(({ add, change, remove }) => add + change + remove > 0)
    .map(
      ({ table, add, change, remove }) => `  ${table}: ${add} added, ${change} changed, ${remove} removed`,
    );

export const backupCommands = [
  command({
    name: "backup create",
    does: "Makes a backup of everything, or of one tenant, and waits until it is proven",
    calls: ["backups.make", "backups.status"],
    fields: { tenant: optional(id({ description: "Of this tenant alone" })), detach },
    changes: true,
    failed,
    aloneWith,
    async run(session, { tenant, detach: leaves }) {
      const wish = tenant === undefined ? {} : { type: "tenant" as const, tenant_id: tenant };
      const begun = await session.call("backups.make", wish);
      return leaves === true ? begun : wait(session, begun.job_id);
    },
  }),
  command({
    name: "backup list",
    does: "The backups, newest first",
    calls: ["backups.list"],
    fields: {},
    columns: ["backup_id", "created_at", "type", "tenant_id", "reason", "rows", "size_bytes", "tested_at"],
    aloneWith,
    run: (session) => session.call("backups.list", {}),
  }),
  command({
    name: "backup status",
    does: "How far a job is",
    calls: ["backups.status"],
    fields: { job },
    places: ["job"],
    failed,
    aloneWith,
    run: (session, params) => session.call("backups.status", { job_id: params.job }),
  }),
  command({
    name: "backup wait",
    does: "Waits until a job has ended",
    calls: ["backups.status"],
    fields: { job },
    places: ["job"],
    failed,
    aloneWith,
    run: (session, params) => wait(session, params.job),
  }),
  command({
    name: "backup plan",
    does: "What a restore would change, table by table; it changes nothing",
    calls: ["backups.restore"],
    fields: { backup },
    places: ["backup"],
    aloneWith,
    async run(session, params) {
      const { plan: found } = await plan(session, params.backup);
      return { items: found?.tables ?? [], total: found?.tables.length ?? 0 };
    },
  }),
  command({
    name: "backup restore",
    does: "Brings one tenant back as it was in a backup, and waits until it is done; the present is kept as a safety backup",
    calls: ["backups.restore", "backups.status"],
    fields: { backup, detach },
    places: ["backup"],
    changes: true,
    destroys: "backups.restore",
    failed,
    aloneWith,
    async warning(session, params) {
      const { plan: found } = await plan(session, params.backup);
      const lines = linesOf(found?.tables ?? []);
      const head = `This brings a tenant back as it was in ${params.backup}; what came after it is gone:`;
      return { lines: [head, ...(lines.length === 0 ? ["  nothing differs"] : lines)], word: params.backup };
    },
    async run(session, params) {
      const begun = await session.call("backups.restore", { backup_id: params.backup, confirm: true });
      return params.detach === true ? begun : wait(session, begun.job_id ?? "");
    },
  }),
  command({
    name: "backup delete",
    does: "Deletes a backup that no job uses",
    calls: ["backups.remove"],
    fields: { backup },
    places: ["backup"],
    changes: true,
    destroys: "backups.remove",
    aloneWith,
    warning: async (_session, params) => ({
      lines: [`This deletes the backup ${params.backup} for good.`],
      word: params.backup,
    }),
    run: (session, params) => session.call("backups.remove", { backup_id: params.backup }),
  }),
];
