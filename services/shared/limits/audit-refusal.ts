// Audit entries of refusals. Anybody can be refused any number of times, and entries are kept for ever. Therefore the first of
// several equal refusals is written at once. Later ones are counted in `audit_repeats`, and a job of the audit service writes
// them as one entry with `times`, first and last moment (services/audit/sum-up-repeats.ts). The number of such entries per day is
// limited for a tenant and for each of its members (refusal-entries.ts); beyond the limit refusals are only counted.
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { Caller } from "../caller.ts";
import type { AuditFacts, Change } from "../database/change.ts";
import { addressKey } from "../rate-limits.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import { takeRefusalEntry } from "./refusal-entries.ts";
import type { RowOf } from "../database/row.ts";

/** How long equal refusals are counted before the first summary, in seconds. The time doubles while they continue. */
const firstSeconds = 900;
export const secondsMax = 21_600;

export interface Refusal extends AuditFacts {
  outcome: "denied";
  /** Whether refusals for different targets are counted separately; otherwise a summary names no target. */
  byTarget: boolean;
}

/** Writes the audit entry of a refusal, or counts it, in the transaction of `change`. The scope must include the tenant. */
export async function auditRefusal(
  change: Change,
  runtime: Pick<Runtime, "log" | "metrics">,
  caller: Caller,
  refusal: Refusal,
): Promise<void> {
  const { byTarget: _byTarget, ...facts } = refusal;
  const { tenantId } = facts;
  const key = keyOf(refusal, caller);
  if (await isRepeated(change, caller, facts, key)) return;
  const entry = { tenantId, userId: facts.userId ?? userOf(caller), action: facts.action };
  if (!(await takeRefusalEntry(change, runtime, entry))) return;
  if (await isFirst(change, caller, facts, key)) change.audit(facts);
}

/** The key of equal refusals: who, what, why and from where. A whole IPv6 network is one origin, as for rate limits. */
function keyOf({ action, outcome, target, changes, userId, byTarget }: Refusal, caller: Caller): Buffer {
  const who = userId ?? userOf(caller);
  const about = byTarget && target !== undefined ? [target.type, String(target.id)] : null;
  const told = canonicalize([who, action, outcome, changes ?? {}, about, addressKey(caller.facts.ip)]);
  return createHash("sha256")
    .update(told ?? "")
    .digest();
}

const userOf = ({ principal }: Caller) => (principal.kind === "user" ? principal.userId : null);

async function isRepeated(
  change: Change,
  caller: Caller,
  { tenantId, target }: AuditFacts,
  key: Buffer,
): Promise<boolean> {
  const rows = await change.execute(
    `update audit_repeats set times = times + 1, first_at = coalesce(first_at, clock_timestamp()),
       last_at = clock_timestamp(), request_id = $3,
       target_id = case when target_type is not distinct from $4 and target_id is not distinct from $5 then target_id end
     where tenant_id = $1 and key = $2 returning 1`,
    [tenantId, key, caller.facts.requestId, target?.type ?? null, targetIdOf(target)],
  );
  return rows.length > 0;
}

/** Inserts the counter. Of several concurrent first refusals exactly one gets true. */
async function isFirst(change: Change, caller: Caller, facts: AuditFacts, key: Buffer): Promise<boolean> {
  const { ip, userAgent, requestId } = caller.facts;
  const { tenantId, userId, action, target, outcome, changes } = facts;
  const row = await change.one<RowOf<"audit_repeats", "times">>(
    `insert into audit_repeats as r (tenant_id, key, user_id, action, target_type, target_id, outcome, changes, ip,
       user_agent, request_id, seconds, ends_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::integer, clock_timestamp() + make_interval(secs => $12))
     on conflict (tenant_id, key) do update set times = r.times + 1,
       first_at = coalesce(r.first_at, clock_timestamp()), last_at = clock_timestamp(),
       target_id = case when r.target_id is not distinct from excluded.target_id then r.target_id end
     returning times`,
    [
      tenantId,
      key,
      userId ?? userOf(caller),
      action,
      target?.type ?? null,
      targetIdOf(target),
      outcome,
      canonicalize(changes ?? {}),
      ip,
      userAgent,
      requestId,
      firstSeconds,
    ],
  );
  return row.times === 0;
}

const targetIdOf = (target: AuditFacts["target"]) => (target === undefined ? null : String(target.id));
