// Mails to the superadmins that a person is needed. At most one mail per fix in 20 hours, except for a
// suspension, so that a repeating failure does not fill mailboxes.
import type { PlainChange } from "../shared/database/change.ts";
import type { Need } from "./incident.rules.ts";
import type { RowOf } from "../shared/database/row.ts";

const mailsMax = 20;
const quietHours = 20;

/** Enqueues the mails in the caller's transaction. */
export async function notifyOperators(change: PlainChange, fixId: number, need: Need): Promise<void> {
  const always = need.startsWith("suspended_");
  const [fix] = await change.execute<RowOf<"fixes", "code" | "title", { open: number }>>(
    `update fixes f set told_at = now() where id = $1
       and ($2 or told_at is null or told_at < now() - interval '${quietHours} hours')
     returning code, title, (select count(*)::integer from incidents i where i.fix_id = f.id and i.ended_at is null) as open`,
    [fixId, always],
  );
  if (fix === undefined) return;
  const operators = await change.execute<RowOf<"users", "id">>(
    `select id from users where role = 'superadmin' and is_active and deleted_at is null order by id limit ${mailsMax}`,
  );
  for (const { id } of operators)
    await change.enqueue("mail.incident", { user_id: id, fix_id: fixId, need, ...fix });
}
