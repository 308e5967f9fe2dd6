// Connections of this process's login that hold a transaction open and do nothing: they keep rows locked and block the vacuuming
// of dead rows. A login sees and ends only its own connections, so each kind of process looks for its own. Only connections of
// the pools are checked (by application_name, see connect.ts): a backup keeps its snapshot for as long as the store takes.
import type { Remedy } from "./port.ts";
import { textIn } from "./targets.ts";

const foundMax = 50;
/** Less than the statement timeout. */
const endMsMax = 4_000;

interface Row {
  session: string;
  seconds: number;
  state: string;
}

/** The operating system reuses process ids, so the start of the session is part of its name. */
const text = `select s.pid || '@' || extract(epoch from s.backend_start)::bigint as session, s.state,
    extract(epoch from now() - s.state_change)::integer as seconds
  from pg_stat_activity s where s.datname = current_database() and s.usename = session_user
    and s.state in ('idle in transaction', 'idle in transaction (aborted)')
    and split_part(s.application_name, ' ', 1) = 'records' and s.state_change < now() - make_interval(secs => $2) and s.pid <> pg_backend_pid()`;

export const sessionIdleInTransaction: Remedy = {
  async find(site, { target }) {
    const one = target === undefined ? null : (textIn("session", target) ?? "");
    const { rows } = await site.db.pool.query<Row>(
      `select * from (${text}) found where $1::text is null or session = $1 limit ${foundMax}`,
      [one, site.runtime.config.idleInTransactionMaxSeconds],
    );
    return {
      found: rows.map(({ session, seconds, state }) => ({
        target: `session:${session}`,
        tenantId: null,
        evidence: { state, seconds },
      })),
    };
  },
  wouldDo: ({ evidence }) =>
    `Would end the connection, which has held a transaction for ${String(evidence["seconds"])} s without a statement.`,
  async heal(site, target) {
    // Waits until the connection has ended: on a busy machine that takes a while, and the detector runs right afterwards.
    const { rows } = await site.db.pool.query(
      `select pg_terminate_backend(split_part(session, '@', 1)::integer, ${endMsMax}) from (${text}) found where session = $1`,
      [textIn("session", target) ?? "", site.runtime.config.idleInTransactionMaxSeconds],
    );
    return { ended: rows.length };
  },
};
