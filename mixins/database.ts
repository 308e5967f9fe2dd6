// For services that own tables: their entities join the one ORM of the process, and `this.db` (for actions `call.db`)
// is the database. The ORM's life is the process's, not the service's, because services stop side by side while calls
// still drain.
import type { EntitySchema } from "@mikro-orm/core";
import type { RecordsSchema } from "../services/shared/bus/schemas.ts";

/** @param entities the tables this service owns and writes through MikroORM; none is fine */
export function database(entities: readonly EntitySchema[] = []): Partial<RecordsSchema> {
  return { entities };
}
