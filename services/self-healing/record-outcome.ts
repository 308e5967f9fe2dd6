// Records the outcome of an attempt: the incident's state and history, the fix's counters and guards, the
// audit entry and the event.
import type { Done } from "../shared/audit-changes.ts";
import { platformTenantId } from "../shared/database/platform-tenant.ts";
import type { PlainChange } from "../shared/database/change.ts";
import { failsTooOften, triesMax, waitSeconds } from "./incident.rules.ts";
import { notifyOperators } from "./notify-operators.ts";
import type { RowOf } from "../shared/database/row.ts";

/** An incident that is being healed. */
export type HealingIncident = RowOf<
  "incidents",
  "fix_id" | "tenant_id" | "code" | "service" | "target" | "tries",
  { id: number }
>;

/** The outcome of an attempt. */
export interface Outcome {
  /** gone: the fault had disappeared before the remedy was applied. */
  result: "healed" | "failed" | "gone";
  facts: { why?: string; done?: Done; seconds?: number };
}

type Step = "healed" | "try_failed" | "failed" | "ended" | "dismissed";

async function addStep(
  change: PlainChange,
  incident: HealingIncident,
  step: Step,
  facts: Outcome["facts"] = {},
) {
  await change.execute(
    "insert into incident_steps (incident_id, fix_id, tenant_id, step, facts) values ($1, $2, $3, $4, $5)",
    [incident.id, incident.fix_id, incident.tenant_id, step, JSON.stringify(facts)],
  );
}

/**
 * Ends an incident whose fault disappeared by itself.
 * @param why a run did not find the fault, and then an incident that is being healed is left to its remedy; or there was nothing to
 *   mend when its turn came
 */
export async function endIncident(
  change: PlainChange,
  incident: HealingIncident,
  why: "not found" | "nothing to mend",
): Promise<void> {
  const ended = await change.execute(
    `update incidents set status = case status when 'failed' then 'failed' else 'ended' end, ended_at = now()
     where id = $1 and ended_at is null and (status = 'healing') = $2 returning id`,
    [incident.id, why === "nothing to mend"],
  );
  if (ended.length > 0) await addStep(change, incident, "ended");
}

/** Records a remedy's success or failure, and suspends the fix if it fails too often. */
export async function recordOutcome(
  change: PlainChange,
  incident: HealingIncident,
  outcome: Outcome,
): Promise<void> {
  const healed = outcome.result === "healed";
  // Locks the fix first, so that concurrent attempts evaluate its guard one after the other.
  const [fix] = await change.execute<{ off: boolean }>(
    "select deleted_at is not null as off from fixes where id = $1 for update",
    [incident.fix_id],
  );
  if (fix?.off !== false && !healed) return dismiss(change, incident, outcome.facts);
  const status = healed ? "healed" : incident.tries >= triesMax ? "failed" : "open";
  const changed = await change.execute(
    `update incidents set status = $2, ended_at = case $2 when 'healed' then now() end,
       next_try_at = now() + make_interval(secs => $3)
     where id = $1 and status = 'healing' and tries = $4 returning id`,
    [incident.id, status, healed ? 0 : waitSeconds(incident.tries), incident.tries],
  );
  // Another process considered this one dead.
  if (changed.length === 0) return;
  await addStep(change, incident, healed ? "healed" : "try_failed", outcome.facts);
  if (status === "open") return guard(change, incident);
  await change.execute(
    healed
      ? "update fixes set healed = healed + 1, last_healed_at = now() where id = $1"
      : "update fixes set failed = failed + 1 where id = $1",
    [incident.fix_id],
  );
  if (!healed) {
    await addStep(change, incident, "failed");
    await notifyOperators(change, incident.fix_id, "failed");
    await guard(change, incident);
  }
  await publishOutcome(change, incident, healed, outcome.facts);
}

/** Dismisses an incident whose fix was deleted during an attempt that did not help. */
async function dismiss(
  change: PlainChange,
  incident: HealingIncident,
  facts: Outcome["facts"],
): Promise<void> {
  const dismissed = await change.execute(
    "update incidents set status = 'dismissed', ended_at = now() where id = $1 and status = 'healing' and tries = $2 returning id",
    [incident.id, incident.tries],
  );
  if (dismissed.length === 0) return;
  await addStep(change, incident, "try_failed", facts);
  await addStep(change, incident, "dismissed");
}

/** Published to the tenant concerned and to the platform tenant. */
async function publishOutcome(
  change: PlainChange,
  incident: HealingIncident,
  healed: boolean,
  facts: Outcome["facts"],
) {
  const { code, target, tries } = incident;
  const named = { fix_id: incident.fix_id, incident_id: incident.id, code, target };
  const platformId = await platformTenantId(change);
  change.audit({
    tenantId: incident.tenant_id ?? platformId,
    action: "fix.apply",
    target: { type: "incident", id: incident.id },
    outcome: healed ? "ok" : "error",
    changes: { code, target, tries, ...facts },
  });
  const kind = healed ? "fix.applied" : "fix.failed";
  for (const tenantId of new Set([incident.tenant_id ?? platformId, platformId]))
    change.publishEvent({ tenantId, kind, payload: { ...named, tenant_id: incident.tenant_id } });
}

/** Suspends the fix when more than half of the last ten attempts failed: a person has to confirm it again. */
async function guard(change: PlainChange, { fix_id: fixId, code }: HealingIncident): Promise<void> {
  const tries = await change.execute<{ helped: boolean }>(
    `select s.step = 'healed' as helped from incident_steps s join fixes f on f.id = s.fix_id
     where s.fix_id = $1 and s.step in ('healed', 'try_failed') and s.at > f.confirmed_at order by s.id desc limit 10`,
    [fixId],
  );
  if (failsTooOften(tries.map(({ helped }) => helped))) await suspend(change, fixId, code, "failures");
}

/** Suspends a confirmed fix and notifies the operators. Idempotent. */
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
  await notifyOperators(change, fixId, `suspended_${reason}`);
  const tenantId = await platformTenantId(change);
  const target = { type: "fix", id: fixId };
  change.audit({ tenantId, action: "fix.suspend", target, outcome: "error", changes: { code, reason } });
}
