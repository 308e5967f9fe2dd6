// For services that own tables: their entities are added to the single ORM instance of the process. The service reads and
// writes through `this.db` (in actions: `call.db`). The ORM is opened and closed by the process, not by the service:
// services stop at the same time, and calls that still run need the database.
import type { EntitySchema } from "@mikro-orm/core";
import type { RecordsSchema } from "../services/shared/bus/schemas.ts";

/** @param entities the tables this service owns and writes through MikroORM; may be empty */
export function database(entities: readonly EntitySchema[] = []): Partial<RecordsSchema> {
  return { entities };
}
