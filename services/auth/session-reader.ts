// Reads the owners of sessions, for every request of every client. Requests that arrive in one turn of the
// event loop, or while a read is running, share the next read. So under load one statement serves many
// requests; a second concurrent read would only halve the batches. A request never joins a read that started
// before it, so a revocation applies from the next request on.
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";
import { currentTrail, detached, followOneOf, type Trail } from "../shared/tracing.ts";
import type { Role } from "../shared/roles.ts";

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

interface Waiting {
  resolve(session: LiveSession | undefined): void;
  reject(error: unknown): void;
  trail: Trail | undefined;
}

const batchMax = 200;

/** Batches reads of sessions: one statement at a time, at most `batchMax` sessions each. */
export class SessionReader {
  readonly #database: Database;
  #waiting = new Map<string, Waiting[]>();
  #reading = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The session as it is now; undefined when it has ended. */
  read(sessionId: string): Promise<LiveSession | undefined> {
    return new Promise((resolve, reject) => {
      const others = this.#waiting.get(sessionId);
      const one = { resolve, reject, trail: currentTrail() };
      if (others === undefined) this.#waiting.set(sessionId, [one]);
      else others.push(one);
      // Detached from the first request's context, because the read serves later requests too.
      if (!this.#reading) detached(() => this.#readSoon());
    });
  }

  #readSoon(): void {
    this.#reading = true;
    setImmediate(() => this.#readNext());
  }

  #readNext(): void {
    const batch = new Map([...this.#waiting].slice(0, batchMax));
    if (batch.size === this.#waiting.size) this.#waiting = new Map();
    else for (const id of batch.keys()) this.#waiting.delete(id);
    const trails = [...batch.values()].flat().map(({ trail }) => trail);
    void followOneOf(trails, () => this.#readBatch(batch)).finally(() => {
      this.#reading = false;
      if (this.#waiting.size > 0) this.#readSoon();
    });
  }

  async #readBatch(batch: ReadonlyMap<string, Waiting[]>): Promise<void> {
    try {
      const rows = await this.#database.read<LiveSession>(platform, {
        name: "auth.live_sessions",
        text: `select id, user_id, tenant_id, role, department_id, can_see_all_patients, exists (select
            from tenant_freezes f where f.tenant_id = s.tenant_id and f.until > now()) as frozen
          from live_sessions s where id = any($1::uuid[])`,
        values: [[...batch.keys()]],
      });
      const found = new Map(rows.map((row) => [row.id, row]));
      for (const [id, waiting] of batch) for (const one of waiting) one.resolve(found.get(id));
    } catch (error) {
      for (const waiting of batch.values()) for (const one of waiting) one.reject(error);
    }
  }
}
