// Decisions of a superadmin: a fix may be applied automatically, or its fault is not detected any more.
import type { Call } from "../shared/bus/bus.ts";
import { platformTenantId } from "../shared/database/platform-tenant.ts";
import type { PlainChange } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { Conflict, NotFound } from "../shared/errors.ts";
import { type Fix, fixColumns, type FixRow, toFix } from "./fix-row.ts";
import { enqueueDue } from "./heal.ts";

type Chosen = Pick<Fix, "code" | "remedy" | "status">;

/** @throws NotFound */
async function lockFix(change: PlainChange, id: number): Promise<Chosen> {
  const [fix] = await change.execute<Chosen>(
    "select code, remedy, status from fixes where id = $1 and deleted_at is null for update",
    [id],
  );
  if (fix === undefined) throw new NotFound("Fix");
  return fix;
}

/** Confirms a fix. Idempotent. @throws NotFound, Conflict `no_remedy` */
export async function confirmFix(call: Call<{ fix_id: number }>): Promise<Fix> {
  const { fix_id: id } = call.params;
  return call.db.change(platform, call.caller, async (change) => {
    const { code, remedy, status } = await lockFix(change, id);
    if (remedy === null) throw new Conflict("no_remedy", "This fault has no remedy: a person has to act");
    if (status !== "confirmed") {
      const { principal } = call.caller;
      await change.execute(
        `update fixes set status = 'confirmed', suspended_reason = null, confirmed_by = $2, confirmed_at = now()
         where id = $1`,
        [id, principal.kind === "user" ? principal.userId : null],
      );
      await reopen(change, id);
      await enqueueDue(change, code);
      const tenantId = await platformTenantId(change);
      const target = { type: "fix", id };
      change.audit({ tenantId, action: "fix.confirm", target, changes: { code, from: status } });
    }
    const [row] = await change.execute<FixRow>(`select ${fixColumns} from fixes f where id = $1`, [id]);
    if (row === undefined) throw new NotFound("Fix");
    return toFix(row);
  });
}

/**
 * Makes open incidents due now, despite any cooldown, and gives failed ones their attempts again, because a
 * person has looked at them.
 */
async function reopen(change: PlainChange, fixId: number): Promise<void> {
  await change.execute(
    "update incidents set next_try_at = now() where fix_id = $1 and status = 'open' and ended_at is null",
    [fixId],
  );
  await change.execute(
    `with reopened as (update incidents set status = 'open', tries = 0, next_try_at = now()
       where fix_id = $1 and status = 'failed' and ended_at is null returning id, fix_id, tenant_id)
     insert into incident_steps (incident_id, fix_id, tenant_id, step) select id, fix_id, tenant_id, 'reopened' from reopened`,
    [fixId],
  );
}

/** Deletes a fix, which switches its detector off, and dismisses its incidents. @throws NotFound */
export async function removeFix(call: Call<{ fix_id: number }>): Promise<void> {
  const { fix_id: id } = call.params;
  await call.db.change(platform, call.caller, async (change) => {
    const { code, status } = await lockFix(change, id);
    await change.execute("update fixes set deleted_at = now() where id = $1", [id]);
    // A remedy that is running continues.
    await change.execute(
      `with dismissed as (update incidents set status = 'dismissed', ended_at = now()
         where fix_id = $1 and status in ('open', 'failed') and ended_at is null returning id, fix_id, tenant_id)
       insert into incident_steps (incident_id, fix_id, tenant_id, step)
       select id, fix_id, tenant_id, 'dismissed' from dismissed`,
      [id],
    );
    const tenantId = await platformTenantId(change);
    const target = { type: "fix", id };
    change.audit({ tenantId, action: "fix.delete", target, changes: { code, from: status } });
  });
}
