// Row-level security: the service's own read path (scope and statement in one round trip) as the login that the
// policies hold, against the very same statements as the owner, who bypasses them. Without HTTP, which would hide it.
import { provision } from "../../../host/database/provision.ts";
import { homeOf } from "../home.ts";
import { cpuOf, ratio } from "../measure.ts";
import type { PoliciesJob, PoliciesResult } from "../policies-child.ts";
import { judge, say, table, title } from "../report.ts";
import type { Stage } from "../stage.ts";
import { childProgram, runTask } from "../task.ts";

export async function policies(stage: Stage): Promise<void> {
  title("policies: reads under row-level security against the same reads without");
  const home = await homeOf(stage);
  const { rows } = await home.owner.query<{ id: number }>(
    "select id from users where tenant_id = $1 order by id limit 200",
    [home.tenantId],
  );
  // The same as the service's own: provision() is idempotent.
  const bootSecret = home.settings.BOOT_SECRET ?? "";
  const provisioned = await provision({ ownerUrl: home.ownerUrl, bootSecret });
  const job: PoliciesJob = {
    ownerUrl: home.ownerUrl,
    appUrl: provisioned.urlFor(undefined),
    tenantId: home.tenantId,
    userIds: rows.map(({ id }) => id),
    postgresId: stage.postgresId,
    rounds: stage.rounds,
    seconds: stage.roundSeconds / 2,
  };
  const result = await runTask<PoliciesResult>(childProgram("policies-child.ts"), job);
  for (const [what, { policies: held, bypassing, unscoped }] of Object.entries(result)) {
    table([
      [`${what}, policies`, held],
      [`${what}, bypassing them`, bypassing],
      [`${what}, plain pg`, unscoped],
    ]);
    say(`against plain pg without any scope: ${ratio(held, unscoped, cpuOf).toFixed(2)} × CPU`);
    judge({
      claim: `${what}, CPU under row-level security against without`,
      measured: ratio(held, bypassing, cpuOf),
      sense: "at most",
      bound: 1.3,
      unit: "×",
    });
  }
}
