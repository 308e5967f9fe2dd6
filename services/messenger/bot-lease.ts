// The lease that decides which process communicates with the messenger, measured by the database's clock.
// When the process dies, another one acquires the lease after it has expired.
import { Caller } from "../shared/caller.ts";
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";

const caller = Caller.system("messenger");

export const leaseSeconds = 15;

/** The lease of one bot. */
export class BotLease {
  readonly #database: Database;
  readonly #bot: string;
  readonly #holder: string;

  /** @param holder a UUID of this process */
  constructor(database: Database, bot: string, holder: string) {
    this.#database = database;
    this.#bot = bot;
    this.#holder = holder;
  }

  /** Acquires or renews the lease. @returns whether this process holds it now */
  async acquireOrRenew(): Promise<boolean> {
    const acquired = await this.#database.writeOne(platform, caller, {
      name: "messenger.lease",
      text: `insert into messenger_bots as b (bot, leased_by, leased_until)
        values ($1, $2::uuid, now() + interval '${leaseSeconds} seconds')
        on conflict (bot) do update set leased_by = excluded.leased_by, leased_until = excluded.leased_until,
          state = case when b.leased_by = excluded.leased_by then b.state else 'down' end,
          down_since = case when b.leased_by = excluded.leased_by then b.down_since else coalesce(b.down_since, now()) end
        where b.leased_by = excluded.leased_by or b.leased_until is null or b.leased_until < now()
        returning bot`,
      values: [this.#bot, this.#holder],
    });
    return acquired !== undefined;
  }

  /**
   * Stores the state of the connection, if this process holds the lease.
   * @param username the bot's name; undefined keeps the stored one
   */
  async saveState(state: "ok" | "down", username?: string): Promise<void> {
    await this.#database.write(platform, caller, {
      name: "messenger.say",
      text: `update messenger_bots set state = $3, username = coalesce($4, username),
          down_since = case when $3 = 'ok' then null else coalesce(down_since, now()) end
        where bot = $1 and leased_by = $2::uuid`,
      values: [this.#bot, this.#holder, state, username ?? null],
    });
  }

  /** Releases the lease, so that another process need not wait until it expires. */
  async release(): Promise<void> {
    await this.#database.write(platform, caller, {
      name: "messenger.release",
      text: `update messenger_bots set leased_until = null, down_since = coalesce(down_since, now())
        where bot = $1 and leased_by = $2::uuid`,
      values: [this.#bot, this.#holder],
    });
  }
}
