// Mails to the superadmins about failed or missing nightly backups and failed test restores.
import type { PlainChange } from "../shared/database/change.ts";
import type { RowOf } from "../shared/database/row.ts";

const mailsMax = 20;

export type Trouble = "backup_failed" | "backup_missing" | "test_failed";

/** Enqueues the mails in the caller's transaction. @param code why, as in the job */
export async function notifyOperators(change: PlainChange, trouble: Trouble, code: string): Promise<void> {
  const operators = await change.execute<RowOf<"users", "id">>(
    `select id from users where role = 'superadmin' and is_active and deleted_at is null order by id limit ${mailsMax}`,
  );
  for (const { id } of operators) await change.enqueue("mail.backup_trouble", { user_id: id, trouble, code });
}
