// What a backup and a restore do to the requests of another tenant.
import { setTimeout as delay } from "node:timers/promises";
import { inRounds } from "../backup-figures.ts";
import type { BackupStage, Tenant } from "../backup-stage.ts";
import { servicePaths } from "../home.ts";
import { judge, say, title } from "../report.ts";
import { median } from "../statistics.ts";
import { getRequests } from "../tenant-clients.ts";
import { losePatients } from "./backups-restore.ts";

const perSecond = 100;

/** Another tenant's requests at a steady rate, alone, beside a backup and beside a restore. */
export async function neighbours(
  { stage, scene, small, superadmin }: BackupStage,
  large: Tenant,
): Promise<void> {
  title(`backups: another tenant's requests at ${perSecond}/s, alone and meanwhile`);
  const job = {
    kind: "paced",
    url: scene.url,
    requests: getRequests(servicePaths.me, small.tokens),
    connections: 32,
    perSecond,
    seconds: stage.pick(5, 2, 0.5),
  } as const;
  const { backupId } = await large.caller.backUp("tenant");
  const kinds = {
    "a full backup": () => superadmin.backUp("full"),
    "a restore of the large tenant": () => large.caller.restore(backupId),
  };
  for (const [name, work] of Object.entries(kinds)) {
    const ratios = await inRounds(stage, async () => {
      if (name !== "a full backup") await losePatients(scene.owner, large.clinic.id);
      const alone = await stage.load.clients(job).result;
      const beside = stage.load.clients({ ...job, seconds: 600 });
      // A short piece of work may be done before the first request is sent.
      await Promise.all([work(), delay(job.seconds * 1_000)]);
      beside.finish();
      const meanwhile = await beside.result;
      if (alone.failed + meanwhile.failed > 0) throw new Error("another tenant's requests failed");
      say(
        `p95 alone ${alone.p95Ms.toFixed(1)} ms, beside ${name} ${meanwhile.p95Ms.toFixed(1)} ms (p50 ${meanwhile.p50Ms.toFixed(1)} ms of ${meanwhile.answered})`,
      );
      return meanwhile.p95Ms / alone.p95Ms;
    });
    judge({
      claim: `another tenant's p95 beside ${name} against alone`,
      measured: median(ratios),
      sense: "at most",
      bound: 1.5,
      unit: "×",
    });
  }
}
