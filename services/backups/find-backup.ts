// A backup that the caller names: within the caller's reach, or not there.
import type { Call } from "../shared/bus/bus.ts";
import { Conflict, NotFound } from "../shared/errors.ts";
import { administeredScope } from "../shared/administered-scope.ts";
import { backupColumns, type BackupRow } from "./backup-row.ts";
import type { BackupType } from "./table-decisions.ts";

/** @param type what the caller takes it for, if anything */
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
