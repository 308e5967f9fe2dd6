// Mails to the platform's superadmins about what they should look at: the backups of the night, and their proof.
import type { PlainChange } from "../shared/database/change.ts";
import type { RowOf } from "../shared/database/row.ts";

const mailsMax = 20;

export type Trouble = "backup_failed" | "backup_missing" | "test_failed";

export async function tellOperators(change: PlainChange, trouble: Trouble, code: string): Promise<void> {
  const operators = await change.execute<RowOf<"users", "id">>(
    `select id from users where role = 'superadmin' and is_active and deleted_at is null order by id limit ${mailsMax}`,
  );
  for (const { id } of operators) await change.enqueue("mail.backup_trouble", { user_id: id, trouble, code });
}
