// Finds a backup within the caller's scope.
import type { Call } from "../shared/bus/bus.ts";
import { Conflict, NotFound } from "../shared/errors.ts";
import { administeredScope } from "../shared/administered-scope.ts";
import { backupColumns, type BackupRow } from "./backup-row.ts";
import type { BackupType } from "./table-decisions.ts";

/** @param type the type that the caller expects, if given @throws NotFound, Conflict `backup_type_differs` */
export async function findBackup(
  call: Call<unknown>,
  id: string,
  type: BackupType | null | undefined,
): Promise<BackupRow> {
  const reach = administeredScope(call.caller);
  const row = await call.db.readOne<BackupRow>(reach, {
    name: "backups.find",
    text: `select ${backupColumns} from backups where id = $1 and state = 'complete'`,
    values: [id],
  });
  if (row === undefined) throw new NotFound("Backup");
  if (type != null && type !== row.type)
    throw new Conflict("backup_type_differs", `The backup is of the type ${row.type}`);
  return row;
}
