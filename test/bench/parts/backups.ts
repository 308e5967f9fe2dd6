// Backups and restores against COPY through zstd and openssl, pg_dump and pg_restore of the same rows on the same server; the
// memory they take above rest; what they do to others' requests; and that a tenant's cost goes with its own rows. Service,
// PostgreSQL and the tools have both cores, as nothing else is loaded here.
import type pg from "pg";
import { columnsLeftOut, tablesOf } from "../../../services/backups/table-decisions.ts";
import { inRounds, judgeMemory, middle, seconds } from "../backup-figures.ts";
import type { Job } from "../backup-scene.ts";
import { type BackupStage, openBackups, type Tenant, Tools } from "../backup-stage.ts";
import { dump, pipe, serverMajor, type Timed } from "../dump-tools.ts";
import { judge, say, title } from "../report.ts";
import type { Stage } from "../stage.ts";
import { median } from "../statistics.ts";
import { neighbours } from "./backups-neighbours.ts";
import { restoreOfAll, restoreOfTenant } from "./backups-restore.ts";

export async function backups(stage: Stage): Promise<void> {
  const scene = await openBackups(stage);
  title(`backups: a tenant of ${scene.smallMb} MB alone, then one of ${scene.largeMb} MB beside it`);
  await scene.small.caller.backUp("tenant"); // Warm, as a service that has run for a while is.
  const tools = new Tools(scene, await serverMajor(scene.scene.owner));
  const alone = await inRounds(stage, () =>
    backUp("small tenant, alone", () => scene.small.caller.backUp("tenant")),
  );
  await restoreOfTenant(scene, tools);
  const large = await scene.grow();
  await proportion(scene, alone, large);
  await againstTools(scene, tools, alone);
  await neighbours(scene, large);
  await scene.scene.service.stop();
}

async function backUp(name: string, make: () => Promise<Job>): Promise<Job> {
  const job = await make();
  say(
    `${name}: ${(job.bytes / 1e6).toFixed(0)} MB packed, ${job.rows} rows; written in ${seconds(job.writtenMs)}, ` +
      `verified and listed in ${seconds(job.ms)}; ${job.grownMb.toFixed(0)} MB above rest, ${job.cpuS.toFixed(1)} s CPU`,
  );
  return job;
}

/** Cost in proportion to the tenant's own rows, and not to the database's. */
async function proportion(
  { stage, small }: BackupStage,
  alone: readonly Job[],
  large: Tenant,
): Promise<void> {
  const among = await inRounds(stage, () =>
    backUp("small tenant, beside the large", () => small.caller.backUp("tenant")),
  );
  const big = await inRounds(stage, () => backUp("large tenant", () => large.caller.backUp("tenant")));
  const perRow = ({ ms, rows }: Job) => ms / rows;
  judge({
    claim: "backup of a tenant beside one many times as large, time against alone",
    measured: middle(among, ({ ms }) => ms) / middle(alone, ({ ms }) => ms),
    sense: "at most",
    bound: 1.3,
    unit: "×",
  });
  judge({
    claim: "backup of a tenant many times as large, time per row against the small one's",
    measured: middle(big, perRow) / middle(among, perRow),
    sense: "at most",
    bound: 1.3,
    unit: "×",
  });
}

async function againstTools(scene: BackupStage, tools: Tools, smallJobs: readonly Job[]): Promise<void> {
  const { stage, superadmin } = scene;
  title("backups: everything, against the tools");
  const [noPipe, noDump] = [tools.lack(["psql", "zstd", "openssl"]), tools.lack(["pg_dump", "pg_restore"])];
  const statements = await copies(scene.scene.owner);
  const rounds = await inRounds(stage, async () => {
    const ours = await backUp("everything", () => superadmin.backUp("full"));
    const piped = noPipe ? undefined : await pipe(tools.url, statements, tools.file("piped"));
    const dumped = noDump ? undefined : await dump(tools.url, tools.file("dumped"));
    for (const [name, each] of [
      ["COPY | zstd -1 | openssl", piped],
      ["pg_dump -Fc", dumped],
    ] as const)
      if (each !== undefined)
        say(
          `${name}: ${(each.bytes / 1e6).toFixed(0)} MB in ${seconds(each.ms)}, ${each.cpuS.toFixed(1)} s CPU`,
        );
    return { ours, piped, dumped };
  });
  const against = (of: (ours: Job) => number, other: (round: (typeof rounds)[number]) => Timed | undefined) =>
    median(rounds.flatMap((round) => (other(round)?.ms ?? 0) / of(round.ours)));
  if (!noPipe) {
    const [written, whole] = [
      against(
        (job) => job.writtenMs,
        (r) => r.piped,
      ),
      against(
        (job) => job.ms,
        (r) => r.piped,
      ),
    ];
    judge({
      claim: "backup before verification, speed against COPY | zstd | AES",
      measured: written,
      sense: "at least",
      bound: 0.7,
      unit: "×",
    });
    judge({
      claim: "backup with verification, speed against COPY | zstd | AES",
      measured: whole,
      sense: "at least",
      bound: 0.4,
      unit: "×",
    });
  }
  if (!noDump) {
    const size = median(rounds.map(({ ours, dumped }) => ours.bytes / (dumped?.bytes ?? Number.NaN)));
    judge({
      claim: "backup with verification, speed against pg_dump -Fc",
      measured: against(
        (job) => job.ms,
        (r) => r.dumped,
      ),
      sense: "at least",
      bound: 4,
      unit: "×",
    });
    judge({ claim: "file against pg_dump -Fc's", measured: size, sense: "at most", bound: 1, unit: "×" });
  }
  judgeMemory(
    `a backup of ${scene.smallMb} MB`,
    middle(smallJobs, ({ grownMb }) => grownMb),
  );
  judgeMemory(
    `a backup of ${scene.smallMb + scene.largeMb} MB`,
    middle(rounds, ({ ours }) => ours.grownMb),
  );
  const last = rounds.at(-1);
  if (last !== undefined) await restoreOfAll(scene, tools, last.ours, noDump);
}

/** The same rows as a full backup's, table by table. */
async function copies(owner: pg.Client): Promise<string[]> {
  const all: string[] = [];
  for (const table of tablesOf("full")) {
    const { rows } = await owner.query<{ list: string }>(
      `select string_agg(quote_ident(attname), ', ' order by attnum) as list from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' and attname <> all($2::text[])`,
      [table, columnsLeftOut("full", table)],
    );
    all.push(`${table} (${rows[0]?.list})`);
  }
  return all;
}
