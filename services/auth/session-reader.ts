// Reads who a session belongs to, for every request of every client. Requests that arrive in one turn of the event loop,
// or while a read is under way, share the next one, so under load one statement serves many (a second read at a time
// would halve that for nothing); none ever joins a read that began before it did, which is what makes a revocation
// count from the next request on.
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";
import type { Role } from "../shared/roles.ts";
import { TenantBatches } from "../shared/tenant-batches.ts";

export interface LiveSession {
  id: string;
  user_id: number;
  tenant_id: number;
  role: Role;
  department_id: number | null;
  can_see_all_patients: boolean;
  /** The tenant is being restored. */
  frozen: boolean;
}

export class SessionReader {
  readonly #batches: TenantBatches<string, LiveSession | null, "all">;

  constructor(database: Database) {
    const read = (_all: "all", ids: readonly string[]) => readSessions(database, ids);
    this.#batches = new TenantBatches(read, { itemsMax: 200, triesEach: false });
  }

  async read(sessionId: string): Promise<LiveSession | undefined> {
    return (await this.#batches.add("all", sessionId)) ?? undefined;
  }
}

async function readSessions(database: Database, ids: readonly string[]): Promise<(LiveSession | null)[]> {
  const rows = await database.read<LiveSession>(platform, {
    name: "auth.live_sessions",
    text: `select id, user_id, tenant_id, role, department_id, can_see_all_patients, exists (select
        from tenant_freezes f where f.tenant_id = s.tenant_id and f.until > now()) as frozen
      from live_sessions s where id = any($1::uuid[])`,
    values: [[...new Set(ids)]],
  });
  const found = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => found.get(id) ?? null);
}
