// Records the result of a detection run: new and continuing incidents, those that ended by themselves, and
// the guard against mass events.
import type { PlainChange } from "../shared/database/change.ts";
import { platformTenantId } from "../shared/database/platform-tenant.ts";
import { platform } from "../shared/database/scope.ts";
import { system } from "./fix-row.ts";
import { enqueueDue } from "./heal.ts";
import type { DetectorCalls } from "./detector-calls.ts";
import { aheadSecondsMax, cooldownSeconds, isMassEvent } from "./incident.rules.ts";
import type { DetectionResult, DetectionContext, ServiceFinding } from "./detect-faults.ts";
import { endIncident, type HealingIncident, suspend } from "./record-outcome.ts";
import { propose } from "./seed-fixes.ts";
import { notifyOperators } from "./notify-operators.ts";
import type { RowOf } from "../shared/database/row.ts";

/** Incidents not found again that are checked individually in a run. */
const checkedMax = 50;
const publishedMax = 20;
/**
 * Bound of open incidents per fault. Operators were notified long before, and further targets are found again
 * when these have ended.
 */
const liveMax = 1_000;

/** An end later than that was written before the database's clock was set back. */
const soon = `now() + interval '${aheadSecondsMax} seconds'`;

type FixState = RowOf<"fixes", "id" | "status" | "remedy">;

/** @returns the number of new incidents */
export async function recordDetection(
  context: DetectionContext,
  look: DetectionResult,
  calls: DetectorCalls,
): Promise<number> {
  const { database } = context.runtime;
  const { code } = look.known;
  const disappeared = await findDisappeared(context, look, calls);
  return database.change(platform, system, async (change) => {
    await saveRun(change, look);
    // Confirming or deleting a fix locks its row before it writes to its incidents, so a detection run does
    // too.
    if (disappeared.length > 0)
      await change.execute("select id from fixes where code = $1 and deleted_at is null for update", [code]);
    for (const incident of disappeared) await endIncident(change, incident, "not found");
    const opened = look.findings.length === 0 ? [] : await openIncidents(change, look);
    await enqueueDue(change, code);
    return opened.length;
  });
}

async function saveRun(
  change: PlainChange,
  { known, findings, targets, cursor, silent, startedAt }: DetectionResult,
) {
  await change.execute(
    `insert into fault_looks (code, looked_at, cursor, found, targets, duration_ms, silent)
     values ($1, now(), $2, $3, $4, $5, $6)
     on conflict (code) do update set looked_at = excluded.looked_at, cursor = excluded.cursor, found = excluded.found,
       targets = excluded.targets, duration_ms = excluded.duration_ms, silent = excluded.silent`,
    [known.code, cursor, findings.length, targets, Math.round(performance.now() - startedAt), silent],
  );
}

/**
 * A run may cover only a part of the targets, so a target that it did not report is checked individually
 * before it counts as disappeared.
 */
async function findDisappeared(
  { runtime }: DetectionContext,
  { known, findings, silent }: DetectionResult,
  calls: DetectorCalls,
): Promise<HealingIncident[]> {
  const { code } = known;
  const live = await runtime.database.read<HealingIncident>(platform, {
    name: "self-healing.live_incidents",
    text: `select id::integer, fix_id, tenant_id, code, service, target, tries from incidents
      where code = $1 and ended_at is null and status <> 'healing' and target <> all($2::text[])
      order by last_seen_at limit ${checkedMax}`,
    values: [code, findings.map(({ target }) => target)],
  });
  const disappeared: HealingIncident[] = [];
  for (const incident of live) {
    // If time runs out, the next run checks the remaining ones: those not seen longest come first.
    if (calls.isOver) break;
    const { service, target } = incident;
    if (silent.includes(service)) continue;
    const answer = await calls.call(service, { code, target });
    if (answer?.findings.every((each) => each.target !== target) === true) disappeared.push(incident);
  }
  return disappeared;
}

async function openIncidents(change: PlainChange, look: DetectionResult): Promise<{ id: number }[]> {
  const fix = await fixFor(change, look);
  if (fix === undefined) return [];
  const [{ live } = { live: 0 }] = await change.execute<{ live: number }>(
    `select count(*)::integer as live from
       (select from incidents where code = $1 and ended_at is null limit ${liveMax}) living`,
    [look.known.code],
  );
  const opened: { id: number; tenantId: number | null }[] = [];
  for (const finding of look.findings) {
    const id = await openIncident(change, fix.id, look, finding, live + opened.length < liveMax);
    if (id !== undefined) opened.push({ id, tenantId: finding.tenant_id });
  }
  if (opened.length === 0) return [];
  await change.execute(
    "update fixes set occurrences = occurrences + $2, last_detected_at = now() where id = $1",
    [fix.id, opened.length],
  );
  if (fix.status === "confirmed") await guardAgainstMass(change, look, fix.id);
  else await notifyOperators(change, fix.id, fix.remedy === null ? "no_remedy" : "unconfirmed");
  await publishOpened(change, fix.id, look.known.code, opened);
  return opened;
}

/**
 * The fix of the fault, which is proposed when the fault is first detected.
 * @returns undefined when it was deleted meanwhile
 */
async function fixFor(change: PlainChange, { known }: DetectionResult): Promise<FixState | undefined> {
  const read = () =>
    change.execute<FixState & { off: boolean }>(
      `select id, status, remedy, deleted_at is not null as off from fixes where code = $1
       order by deleted_at desc nulls first limit 1 for update`,
      [known.code],
    );
  const [present] = await read();
  if (present !== undefined) return present.off ? undefined : present;
  await propose(change, known);
  return (await read())[0];
}

/**
 * Opens or updates an incident. A fault that was healed during the run was detected before, so it is not
 * opened again.
 * @returns the id of a new incident; undefined for a known one
 */
async function openIncident(
  change: PlainChange,
  fixId: number,
  { known, startedAt }: DetectionResult,
  finding: ServiceFinding,
  isRoom: boolean,
) {
  const { code } = known;
  const { target, tenant_id: tenantId, service, would_do: wouldDo } = finding;
  const [row] = await change.execute<RowOf<"incidents", "id", { is_new: boolean }>>(
    `insert into incidents (fix_id, tenant_id, code, service, target, evidence, would_do, next_try_at)
     select $1, (select id from tenants where id = $2), $3, $4, $5, $6, $7, greatest(now(),
       (select max(ended_at) + interval '${cooldownSeconds} seconds' from incidents
        where code = $3 and target = $5 and status in ('healed', 'failed') and ended_at <= ${soon}))
     where not exists (select from incidents where code = $3 and target = $5 and status <> 'dismissed'
       and ended_at > now() - make_interval(secs => $8) and ended_at <= ${soon})
       and ($9 or exists (select from incidents where code = $3 and target = $5 and ended_at is null))
     on conflict (code, target) where ended_at is null do update
       set last_seen_at = now(), evidence = excluded.evidence, would_do = excluded.would_do
     returning id, (xmax = 0) as is_new`,
    [
      fixId,
      tenantId,
      code,
      service,
      target,
      JSON.stringify(finding.evidence),
      wouldDo,
      secondsSince(startedAt),
      isRoom,
    ],
  );
  if (row === undefined || !row.is_new) return undefined;
  const id = Number(row.id);
  await change.execute(
    `insert into incident_steps (incident_id, fix_id, tenant_id, step, facts)
     select id, fix_id, tenant_id, 'detected', $2 from incidents where id = $1`,
    [id, JSON.stringify({ service, ...(wouldDo === null ? {} : { would_do: wouldDo }) })],
  );
  return id;
}

const secondsSince = (at: number) => (performance.now() - at) / 1000;

/** Counts only incidents since the confirmation: the person who confirmed has seen the earlier ones. */
async function guardAgainstMass(change: PlainChange, look: DetectionResult, fixId: number): Promise<void> {
  const [row] = await change.execute<{ found: number }>(
    `select count(*)::integer as found from incidents i join fixes f on f.id = i.fix_id
     where i.fix_id = $1 and i.ended_at is null and i.detected_at > f.confirmed_at`,
    [fixId],
  );
  // More than a run can list: the share of all targets is unknown, so a person must confirm after each
  // hundred.
  if (look.full || isMassEvent(row?.found ?? 0, look.targets))
    await suspend(change, fixId, look.known.code, "mass");
}

/** Published to the platform tenant, because its operators repair the fault. */
async function publishOpened(
  change: PlainChange,
  fixId: number,
  code: string,
  opened: readonly { id: number; tenantId: number | null }[],
) {
  const tenantId = await platformTenantId(change);
  for (const { id, tenantId: whose } of opened.slice(0, publishedMax))
    change.publishEvent({
      tenantId,
      kind: "incident.opened",
      payload: { incident_id: id, fix_id: fixId, code, tenant_id: whose },
    });
}
