// Applies a remedy to an incident: runs the detector again, applies the remedy, and runs the detector until
// the fault is gone. One job per fix at a time over all processes heals its due incidents one after the
// other.
import type { ServiceBroker } from "moleculer";
import { setTimeout as delay } from "node:timers/promises";
import type { PlainChange } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { faultOf } from "../../mixins/healing/catalogue.ts";
import { askForFaults, askToHeal } from "../../mixins/healing/port.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { system } from "./fix-row.ts";
import { aheadSecondsMax, cooldownSeconds, deadSeconds } from "./incident.rules.ts";
import { endIncident, type HealingIncident, type Outcome, recordOutcome } from "./record-outcome.ts";

/** What healing needs of its process. */
export interface Healer {
  broker: ServiceBroker;
  runtime: Runtime;
  stopping: AbortSignal;
}

const dueMax = 1_000;
const healMsMax = 120_000;
const recheckMs = 2_000;

/**
 * Open and due, or left by a process that died. A time further ahead than any delay was written before the
 * database's clock was set back, so it is ignored. The queue runs the jobs of one fix one at a time, whatever
 * the clock says.
 */
const isDue = `i.ended_at is null and (
  (i.status = 'open'
    and (i.next_try_at <= now() or i.next_try_at > now() + interval '${cooldownSeconds + aheadSecondsMax} seconds'))
  or (i.status = 'healing' and i.tried_at not between now() - interval '${deadSeconds} seconds'
    and now() + interval '${aheadSecondsMax} seconds'))`;

const dueFrom = `from incidents i join fixes f on f.id = i.fix_id
  where i.code = $1 and f.status = 'confirmed' and f.deleted_at is null and ${isDue}`;

/** Enqueues the healing of due incidents, if the fix is confirmed. */
export async function enqueueDue(change: PlainChange, code: string): Promise<void> {
  await change.execute(
    `select add_task('self-healing.heal', payload := json_build_object('code', $1::text),
       job_key := 'self-healing.heal:' || $1, queue_name := 'self-healing.heal:' || $1)
     where exists (select ${dueFrom})`,
    [code],
  );
}

/** Heals due incidents until time runs out; the next detection run starts another job. */
export async function healDue(healer: Healer, code: string): Promise<void> {
  const endsAt = performance.now() + healMsMax;
  for (let done = 0; done < dueMax && performance.now() < endsAt && !healer.stopping.aborted; done++) {
    const next = await healer.runtime.database.readOne<{ id: number }>(platform, {
      name: "self-healing.next_due",
      text: `select i.id::integer as id ${dueFrom} order by i.next_try_at, i.id limit 1`,
      values: [code],
    });
    if (next === undefined) return;
    await healIncident(healer, next.id);
  }
}

async function healIncident(healer: Healer, incidentId: number): Promise<void> {
  const incident = await acquireIncident(healer, incidentId);
  if (incident === undefined) return;
  const { runtime, stopping } = healer;
  const outcome = await tryRemedy(healer, incident);
  // The process is stopping: another process tries again when this attempt has timed out.
  if (stopping.aborted && outcome.result === "failed") throw new Error("the process stops");
  await runtime.database.change(platform, system, (change) =>
    outcome.result === "gone"
      ? endIncident(change, incident, "nothing to mend")
      : recordOutcome(change, incident, outcome),
  );
  runtime.log.info(
    { incident: incident.id, code: incident.code, result: outcome.result, facts: outcome.facts },
    "a remedy was tried",
  );
}

/**
 * Marks the incident as being healed.
 * @returns undefined when it is not due, or its fix is not confirmed any more
 */
async function acquireIncident({ runtime }: Healer, id: number): Promise<HealingIncident | undefined> {
  return runtime.database.change(platform, system, async (change) => {
    const [incident] = await change.execute<HealingIncident>(
      `update incidents i set status = 'healing', tried_at = now(),
         tries = case i.status when 'open' then i.tries + 1 else i.tries end
       from fixes f where i.id = $1 and f.id = i.fix_id and f.status = 'confirmed' and f.deleted_at is null and ${isDue}
       returning i.id::integer as id, i.fix_id, i.tenant_id, i.code, i.service, i.target, i.tries`,
      [id],
    );
    if (incident !== undefined)
      await change.execute(
        "insert into incident_steps (incident_id, fix_id, tenant_id, step, facts) values ($1, $2, $3, 'trying', $4)",
        [incident.id, incident.fix_id, incident.tenant_id, JSON.stringify({ try: incident.tries })],
      );
    return incident;
  });
}

async function tryRemedy({ broker, stopping }: Healer, incident: HealingIncident): Promise<Outcome> {
  const { code, service, target } = incident;
  const isFound = async () =>
    (await askForFaults(broker, service, { code, target })).findings.some((each) => each.target === target);
  const startedAt = performance.now();
  const seconds = () => Math.round((performance.now() - startedAt) / 100) / 10;
  try {
    if (!(await isFound())) return { result: "gone", facts: {} };
    const { done } = await askToHeal(broker, service, { code, target });
    const deadline = startedAt + (faultOf(code)?.settlesWithinS ?? 0) * 1000;
    while (await isFound()) {
      if (performance.now() >= deadline) return { result: "failed", facts: { why: "still_there", done } };
      await delay(recheckMs, undefined, { signal: stopping });
    }
    return { result: "healed", facts: { done, seconds: seconds() } };
  } catch (error) {
    // The message of an error may contain data; its type does not.
    const { type, name } = error as { type?: unknown; name?: unknown };
    return { result: "failed", facts: { why: String(type ?? name).slice(0, 100), seconds: seconds() } };
  }
}
