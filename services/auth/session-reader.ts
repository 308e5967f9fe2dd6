// Reads the owners of sessions, for every request of every client. Requests that arrive in one turn of the
// event loop, or while a read is running, share the next read. So under load one statement serves many
// requests; a second concurrent read would only halve the batches. A request never joins a read that started
// before it, so a revocation applies from the next request on.
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
  /** Whether the tenant is frozen by a restore. */
  frozen: boolean;
}

/** Batches reads of sessions: one statement at a time, at most 200 sessions each. */
export class SessionReader {
  readonly #batches: TenantBatches<string, LiveSession | null, "all">;

  constructor(database: Database) {
    const read = (_all: "all", ids: readonly string[]) => readSessions(database, ids);
    this.#batches = new TenantBatches(read, { itemsMax: 200, triesEach: false });
  }

  /** The session as it is now; undefined when it has ended. */
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
