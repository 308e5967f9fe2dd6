// `npm run tables`: writes the types of all tables, after every migration on an embedded PostgreSQL.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startMigratedDatabase } from "./migrated.ts";
import { tableTypes } from "./table-types.ts";

const place = join(import.meta.dirname, "../../services/shared/database/tables.ts");
const database = await startMigratedDatabase();
try {
  await writeFile(place, await tableTypes(database.owner));
} finally {
  await database.stop();
}
