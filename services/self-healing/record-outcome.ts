// What came of a try: the incident's state and history, the fix's counters and guards, the audit entry and the event.
import type { Done } from "../shared/audit-changes.ts";
import { platformTenantId } from "../shared/database/platform-tenant.ts";
import type { PlainChange } from "../shared/database/change.ts";
import { failsTooOften, triesMax, waitSeconds } from "./incident.rules.ts";
import { tellOperators } from "./notify-operators.ts";
import type { RowOf } from "../shared/database/row.ts";

/** An incident that is being healed. */
export type Held = RowOf<
  "incidents",
  "fix_id" | "tenant_id" | "code" | "service" | "target" | "tries",
  { id: number }
>;

export interface Outcome {
  /** gone: the fault was not there any more before anything was done. */
  result: "healed" | "failed" | "gone";
  facts: { why?: string; done?: Done; seconds?: number };
}

type Step = "healed" | "try_failed" | "failed" | "ended" | "dismissed";

async function addStep(change: PlainChange, held: Held, step: Step, facts: Outcome["facts"] = {}) {
  await change.execute(
    "insert into incident_steps (incident_id, fix_id, tenant_id, step, facts) values ($1, $2, $3, $4, $5)",
    [held.id, held.fix_id, held.tenant_id, step, JSON.stringify(facts)],
  );
}

/**
 * The fault went away by itself.
 * @param why a look did not find it: then what is being mended at this moment is left to whoever mends it, who writes down what
 * was
 *   done; or there was nothing to mend when its turn came
 */
export async function endIncident(
  change: PlainChange,
  held: Held,
  why: "not found" | "nothing to mend",
): Promise<void> {
  const ended = await change.execute(
    `update incidents set status = case status when 'failed' then 'failed' else 'ended' end, ended_at = now()
     where id = $1 and ended_at is null and (status = 'healing') = $2 returning id`,
    [held.id, why === "nothing to mend"],
  );
  if (ended.length > 0) await addStep(change, held, "ended");
}

export async function recordOutcome(change: PlainChange, held: Held, outcome: Outcome): Promise<void> {
  const healed = outcome.result === "healed";
  // The fix's row first: the guard of one fix is asked by one try at a time.
  const [fix] = await change.execute<{ off: boolean }>(
    "select deleted_at is not null as off from fixes where id = $1 for update",
    [held.fix_id],
  );
  if (fix?.off !== false && !healed) return dismiss(change, held, outcome.facts);
  const status = healed ? "healed" : held.tries >= triesMax ? "failed" : "open";
  const changed = await change.execute(
    `update incidents set status = $2, ended_at = case $2 when 'healed' then now() end,
       next_try_at = now() + make_interval(secs => $3)
     where id = $1 and status = 'healing' and tries = $4 returning id`,
    [held.id, status, healed ? 0 : waitSeconds(held.tries), held.tries],
  );
  // Another process took it for dead.
  if (changed.length === 0) return;
  await addStep(change, held, healed ? "healed" : "try_failed", outcome.facts);
  if (status === "open") return guard(change, held);
  await change.execute(
    healed
      ? "update fixes set healed = healed + 1, last_healed_at = now() where id = $1"
      : "update fixes set failed = failed + 1 where id = $1",
    [held.fix_id],
  );
  if (!healed) {
    await addStep(change, held, "failed");
    await tellOperators(change, held.fix_id, "failed");
    await guard(change, held);
  }
  await tell(change, held, healed, outcome.facts);
}

/** Its fix was deleted while it was being mended, which did not help: nobody goes on with it. */
async function dismiss(change: PlainChange, held: Held, facts: Outcome["facts"]): Promise<void> {
  const dismissed = await change.execute(
    "update incidents set status = 'dismissed', ended_at = now() where id = $1 and status = 'healing' and tries = $2 returning id",
    [held.id, held.tries],
  );
  if (dismissed.length === 0) return;
  await addStep(change, held, "try_failed", facts);
  await addStep(change, held, "dismissed");
}

/** To the tenant that it concerns, and to the platform. */
async function tell(change: PlainChange, held: Held, healed: boolean, facts: Outcome["facts"]) {
  const { code, target, tries } = held;
  const named = { fix_id: held.fix_id, incident_id: held.id, code, target };
  const platformId = await platformTenantId(change);
  change.audit({
    tenantId: held.tenant_id ?? platformId,
    action: "fix.apply",
    target: { type: "incident", id: held.id },
    outcome: healed ? "ok" : "error",
    changes: { code, target, tries, ...facts },
  });
  const kind = healed ? "fix.applied" : "fix.failed";
  for (const tenantId of new Set([held.tenant_id ?? platformId, platformId]))
    change.publishEvent({ tenantId, kind, payload: { ...named, tenant_id: held.tenant_id } });
}

/** Over half of the last ten tries did not help: a person has to look before there is another. */
async function guard(change: PlainChange, { fix_id: fixId, code }: Held): Promise<void> {
  const tries = await change.execute<{ helped: boolean }>(
    `select s.step = 'healed' as helped from incident_steps s join fixes f on f.id = s.fix_id
     where s.fix_id = $1 and s.step in ('healed', 'try_failed') and s.at > f.confirmed_at order by s.id desc limit 10`,
    [fixId],
  );
  if (failsTooOften(tries.map(({ helped }) => helped))) await suspend(change, fixId, code, "failures");
}

export async function suspend(
  change: PlainChange,
  fixId: number,
  code: string,
  reason: "failures" | "mass",
): Promise<void> {
  const suspended = await change.execute(
    "update fixes set status = 'suspended', suspended_reason = $2 where id = $1 and status = 'confirmed' returning id",
    [fixId, reason],
  );
  if (suspended.length === 0) return;
  await tellOperators(change, fixId, `suspended_${reason}`);
  const tenantId = await platformTenantId(change);
  const target = { type: "fix", id: fixId };
  change.audit({ tenantId, action: "fix.suspend", target, outcome: "error", changes: { code, reason } });
}
