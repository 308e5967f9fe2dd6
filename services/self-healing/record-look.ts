// What a look leaves behind: incidents that are new or still there, those that ended by themselves, and the guard against
// a mass event.
import type { PlainChange } from "../shared/database/change.ts";
import { platformTenantId } from "../shared/database/platform-tenant.ts";
import { platform } from "../shared/database/scope.ts";
import { system } from "./fix-row.ts";
import { enqueueDue } from "./heal.ts";
import type { Asking } from "./asking.ts";
import { aheadSecondsMax, cooldownSeconds, isMassEvent } from "./incident.rules.ts";
import type { Look, Looker, ServiceFinding } from "./look.ts";
import { endIncident, type Held, suspend } from "./record-outcome.ts";
import { propose } from "./seed-fixes.ts";
import { tellOperators } from "./notify-operators.ts";
import type { RowOf } from "../shared/database/row.ts";

/** Of those that a look did not find again, so many are asked for by name. */
const askedMax = 50;
const toldMax = 20;
/** Of one fault: a person has been told long before, and what is beyond is found again when these have ended. */
const liveMax = 1_000;

/** What ended later than that did so before the database's clock went back. */
const soon = `now() + interval '${aheadSecondsMax} seconds'`;

type FixState = RowOf<"fixes", "id" | "status" | "remedy">;

/** @returns how many incidents are new */
export async function recordLook(looker: Looker, look: Look, asking: Asking): Promise<number> {
  const { database } = looker.runtime;
  const { code } = look.known;
  const gone = await findGone(looker, look, asking);
  return database.change(platform, system, async (change) => {
    await noteLook(change, look);
    // Whoever confirms or deletes the fix holds its row before they write to its incidents: so does a look.
    if (gone.length > 0)
      await change.execute("select id from fixes where code = $1 and deleted_at is null for update", [code]);
    for (const held of gone) await endIncident(change, held, "not found");
    const opened = look.findings.length === 0 ? [] : await openIncidents(change, look);
    await enqueueDue(change, code);
    return opened.length;
  });
}

async function noteLook(change: PlainChange, { known, findings, targets, cursor, silent, startedAt }: Look) {
  await change.execute(
    `insert into fault_looks (code, looked_at, cursor, found, targets, duration_ms, silent)
     values ($1, now(), $2, $3, $4, $5, $6)
     on conflict (code) do update set looked_at = excluded.looked_at, cursor = excluded.cursor, found = excluded.found,
       targets = excluded.targets, duration_ms = excluded.duration_ms, silent = excluded.silent`,
    [known.code, cursor, findings.length, targets, Math.round(performance.now() - startedAt), silent],
  );
}

/** A look may see a part only, so what it did not find is asked for by name before it is believed to be gone. */
async function findGone(
  { runtime }: Looker,
  { known, findings, silent }: Look,
  asking: Asking,
): Promise<Held[]> {
  const { code } = known;
  const live = await runtime.database.read<Held>(platform, {
    name: "self-healing.live_incidents",
    text: `select id::integer, fix_id, tenant_id, code, service, target, tries from incidents
      where code = $1 and ended_at is null and status <> 'healing' and target <> all($2::text[])
      order by last_seen_at limit ${askedMax}`,
    values: [code, findings.map(({ target }) => target)],
  });
  const gone: Held[] = [];
  for (const held of live) {
    // Who was not asked for lack of time has its turn in the next look: the longest unseen come first.
    if (asking.isOver) break;
    const { service, target } = held;
    if (silent.includes(service)) continue;
    const answer = await asking.ask(service, { code, target });
    if (answer?.findings.every((each) => each.target !== target) === true) gone.push(held);
  }
  return gone;
}

async function openIncidents(change: PlainChange, look: Look): Promise<{ id: number }[]> {
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
  else await tellOperators(change, fix.id, fix.remedy === null ? "no_remedy" : "unconfirmed");
  await tell(change, fix.id, look.known.code, opened);
  return opened;
}

/** The fix is proposed when its fault is first met. @returns undefined when it was deleted meanwhile */
async function fixFor(change: PlainChange, { known }: Look): Promise<FixState | undefined> {
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
 * What was mended while the look was under way was found before: it is not opened again for that.
 * @param isRoom whether a new one may be opened
 * @returns the id of a new one; undefined for one that is known
 */
async function openIncident(
  change: PlainChange,
  fixId: number,
  { known, startedAt }: Look,
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

/** Counts what was found since a person confirmed: what was there before, that person has seen. */
async function guardAgainstMass(change: PlainChange, look: Look, fixId: number): Promise<void> {
  const [row] = await change.execute<{ found: number }>(
    `select count(*)::integer as found from incidents i join fixes f on f.id = i.fix_id
     where i.fix_id = $1 and i.ended_at is null and i.detected_at > f.confirmed_at`,
    [fixId],
  );
  // More than a look can name: what share of all that is cannot be said, so a person is asked after each hundred.
  if (look.full || isMassEvent(row?.found ?? 0, look.targets))
    await suspend(change, fixId, look.known.code, "mass");
}

/** To the platform: what is at fault is its operators' to mend. */
async function tell(
  change: PlainChange,
  fixId: number,
  code: string,
  opened: readonly { id: number; tenantId: number | null }[],
) {
  const tenantId = await platformTenantId(change);
  for (const { id, tenantId: whose } of opened.slice(0, toldMax))
    change.publishEvent({
      tenantId,
      kind: "incident.opened",
      payload: { incident_id: id, fix_id: fixId, code, tenant_id: whose },
    });
}
