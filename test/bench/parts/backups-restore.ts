// The restores of the backups' part: everything by `npm run restore`, one tenant in the running service, each against pg_restore.
import type pg from "pg";
import { inRounds, judgeMemory, middle, seconds } from "../backup-figures.ts";
import type { Job } from "../backup-scene.ts";
import { type BackupStage, emptyDatabase, type Tools } from "../backup-stage.ts";
import { dump, load } from "../dump-tools.ts";
import { judge, say, title } from "../report.ts";
import { median } from "../statistics.ts";
import { runProgram } from "../task.ts";

/** All of a lost database into an empty one, by npm run restore and by pg_restore. */
export async function restoreOfAll(
  { stage, scene }: BackupStage,
  tools: Tools,
  job: Job,
  noDump: boolean,
): Promise<void> {
  title("backups: everything restored into an empty database");
  const { owner, ownerUrl, settings } = scene;
  const ratios = await inRounds(stage, async () => {
    const restored = await emptyDatabase(owner, ownerUrl, "restored");
    const env = { ...settings, DATABASE_URL: restored };
    const ours = await runProgram(
      stage.cores.onBothCores([process.execPath, "host/restore.ts", job.backupId]),
      env,
    );
    const theirs = noDump
      ? undefined
      : await load(await emptyDatabase(owner, ownerUrl, "reloaded"), tools.file("dumped"));
    say(
      `npm run restore ${seconds(ours)}${theirs === undefined ? "" : `, pg_restore ${seconds(theirs.ms)}`}`,
    );
    return (theirs?.ms ?? Number.NaN) / ours;
  });
  if (noDump) return;
  judge({
    claim: "npm run restore, speed against pg_restore",
    measured: median(ratios),
    sense: "at least",
    bound: 1,
    unit: "×",
  });
}

/** One tenant whose patients are gone, while the service runs: its rows are all there is, so pg_restore does the same. */
export async function restoreOfTenant({ stage, scene, small }: BackupStage, tools: Tools): Promise<void> {
  const noDump = tools.lack(["pg_dump", "pg_restore"]);
  const { backupId } = await small.caller.backUp("tenant");
  if (!noDump) await dump(tools.url, tools.file("small"));
  const rounds = await inRounds(stage, async () => {
    await losePatients(scene.owner, small.clinic.id);
    const job = await small.caller.restore(backupId);
    const theirs = noDump
      ? undefined
      : await load(await emptyDatabase(scene.owner, scene.ownerUrl, "reloaded"), tools.file("small"));
    const beside = theirs === undefined ? "" : `; pg_restore ${seconds(theirs.ms)}`;
    say(`the small tenant restored in ${seconds(job.ms)}, ${job.grownMb.toFixed(0)} MB above rest${beside}`);
    return { job, ratio: (theirs?.ms ?? Number.NaN) / job.ms };
  });
  if (!noDump)
    judge({
      claim: "restore of a tenant in the running service, speed against pg_restore of the same rows",
      measured: middle(rounds, ({ ratio }) => ratio),
      sense: "at least",
      bound: 1,
      unit: "×",
    });
  judgeMemory(
    "a tenant's restore",
    middle(rounds, ({ job }) => job.grownMb),
  );
}

export async function losePatients(owner: pg.Client, tenantId: number): Promise<void> {
  await owner.query("set session_replication_role = replica");
  for (const table of ["patient_records", "patients"]) {
    await owner.query(`delete from ${table} where tenant_id = $1`, [tenantId]);
    await owner.query(`vacuum ${table}`);
  }
  await owner.query("reset session_replication_role");
  await owner.query("checkpoint");
}
