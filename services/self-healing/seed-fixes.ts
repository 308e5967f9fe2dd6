// Loads the built-in catalogue: proposes missing fixes and updates those that nobody edited.
import type { Call } from "../shared/bus/bus.ts";
import { platformTenantId } from "../shared/database/platform-tenant.ts";
import type { PlainChange } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { catalogue, type FaultCode } from "../../mixins/healing/catalogue.ts";
import type { KnownFault } from "../../mixins/healing/known-fault.ts";
import { hashOf } from "./fix-row.ts";
import type { RowOf } from "../shared/database/row.ts";

type Known = KnownFault & { code: FaultCode };
type Seeded = Record<"created" | "updated" | "skipped" | "total", number>;
type Row = RowOf<"fixes", "code" | "title" | "problem" | "remedy" | "risk", { seeded: string }>;

/** Answers `self-healing.seed`. `overwrite` also resets edited and confirmed fixes. */
export async function seedFixes(call: Call<{ overwrite?: boolean | null }>): Promise<Seeded> {
  const overwrite = call.params.overwrite === true;
  return call.db.change(platform, call.caller, async (change) => {
    // Serialises concurrent calls, and detection runs that propose a fix.
    await change.execute("select pg_advisory_xact_lock(hashtext('self-healing.seed'))");
    const rows = await change.execute<Row>(
      `select code, title, problem, remedy, risk, encode(seeded_hash, 'hex') as seeded from fixes
       where deleted_at is null order by id for update`,
    );
    const present = new Map(rows.map((row) => [row.code, row]));
    const seeded: Seeded = { created: 0, updated: 0, skipped: 0, total: catalogue.length };
    for (const known of catalogue) seeded[await seed(change, known, present.get(known.code), overwrite)] += 1;
    const tenantId = await platformTenantId(change);
    if (seeded.created + seeded.updated > 0)
      change.audit({ tenantId, action: "fix.seed", changes: { ...seeded, overwrite } });
    return seeded;
  });
}

async function seed(change: PlainChange, known: Known, row: Row | undefined, overwrite: boolean) {
  if (row === undefined) {
    // A detection run may have been faster.
    return (await propose(change, known)) === undefined ? "skipped" : "created";
  }
  const now = hashOf(row).toString("hex");
  const isEdited = now !== row.seeded;
  const isCurrent = now === hashOf(known).toString("hex");
  if (!overwrite && (isEdited || isCurrent)) return "skipped";
  // A person who confirmed another remedy has not confirmed this one.
  const again = overwrite || row.remedy !== known.remedy;
  await change.execute(
    `update fixes set title = $2, problem = $3, remedy = $4, risk = $5, seeded_hash = $6,
       status = case when $7 then 'proposed' else status end,
       suspended_reason = case when $7 then null else suspended_reason end,
       confirmed_by = case when $7 then null else confirmed_by end,
       confirmed_at = case when $7 then null else confirmed_at end
     where code = $1 and deleted_at is null`,
    [known.code, known.title, known.problem, known.remedy, known.risk, hashOf(known), again],
  );
  return "updated";
}

/** Proposes the fix of a fault. @returns its id; undefined when another process has proposed it meanwhile */
export async function propose(change: PlainChange, known: Known): Promise<number | undefined> {
  const [row] = await change.execute<RowOf<"fixes", "id">>(
    `insert into fixes (code, title, problem, remedy, risk, seeded_hash) values ($1, $2, $3, $4, $5, $6)
     on conflict (code) where deleted_at is null do nothing returning id`,
    [known.code, known.title, known.problem, known.remedy, known.risk, hashOf(known)],
  );
  return row?.id;
}
