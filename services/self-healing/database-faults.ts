// Detectors that read PostgreSQL's catalogue and statistics. Repairs need the rights of the tables' owner,
// which no service has, so a person is notified. These views are small and readable by every login.
import { platform } from "../shared/database/scope.ts";
import type { Detector, FoundFault, DetectorCall } from "../../mixins/healing/port.ts";
import { textIn } from "../../mixins/healing/targets.ts";

const foundMax = 50;
/** Smaller tables are ignored. */
const rowsMin = 50_000;
/**
 * PostgreSQL refuses writes at about 2 147 million. A healthy server stays below 200 million by autovacuum.
 */
const transactionsMax = 1_000_000_000;

interface Named {
  name: string;
  evidence: Record<string, unknown>;
}

function byName(kind: string, statement: string): Detector {
  return {
    async find(site: DetectorCall, { target }) {
      const rows = await site.db.read<Named>(platform, {
        text: `select * from (${statement}) found where $1::text is null or name = $1 order by name limit ${foundMax}`,
        values: [target === undefined ? null : (textIn(kind, target) ?? "")],
      });
      const found: FoundFault[] = rows.map(({ name, evidence }) => ({
        target: `${kind}:${name}`,
        tenantId: null,
        evidence,
      }));
      return { found };
    },
  };
}

/** The detector `invalid_index`. An index that is being built is invalid too, and excluded. */
export const invalidIndex = byName(
  "index",
  `select c.relname::text as name, json_build_object('table', t.relname, 'bytes', pg_relation_size(c.oid)) as evidence
   from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
   where c.relnamespace in ('public'::regnamespace, 'graphile_worker'::regnamespace) and not (i.indisvalid and i.indisready)
     and not exists (select from pg_stat_progress_create_index p where p.index_relid = c.oid)`,
);

/** The detector `statistics_stale`. */
export const statisticsStale = byName(
  "table",
  `select relname::text as name, json_build_object('rows', n_live_tup, 'changed', n_mod_since_analyze,
      'analyzed_at', greatest(last_analyze, last_autoanalyze)) as evidence
   from pg_stat_user_tables where schemaname in ('public', 'graphile_worker') and n_mod_since_analyze > ${rowsMin}
     and n_mod_since_analyze > n_live_tup * 0.5
     and coalesce(greatest(last_analyze, last_autoanalyze), '-infinity') < now() - interval '1 day'`,
);

/** The detector `vacuum_behind`. */
export const vacuumBehind = byName(
  "table",
  `select relname::text as name, json_build_object('rows', n_live_tup, 'dead', n_dead_tup,
      'vacuumed_at', greatest(last_vacuum, last_autovacuum)) as evidence
   from pg_stat_user_tables where schemaname in ('public', 'graphile_worker') and n_dead_tup > ${rowsMin}
     and n_dead_tup > n_live_tup
     and coalesce(greatest(last_vacuum, last_autovacuum), '-infinity') < now() - interval '1 day'`,
);

/** Share of the connections that are not reserved for superusers. When all are used, new ones are refused. */
const connectionsMax = 0.85;

/** The detector `connections_run_out`. */
export const connectionsRunOut = byName(
  "connections",
  `select 'server'::text as name, json_build_object('used', used, 'max', of_all) as evidence from (
     select (select sum(numbackends) from pg_stat_database)::integer as used,
       current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
         - coalesce(current_setting('reserved_connections', true), '0')::integer as of_all) counted
   where used > of_all * ${connectionsMax}`,
);

/** The detector `transaction_ids_run_out`. */
export const transactionIdsRunOut = byName(
  "database",
  `select datname::text as name, json_build_object('transactions', age(datfrozenxid), 'max', ${transactionsMax}) as evidence
   from pg_database where datname = current_database() and age(datfrozenxid) > ${transactionsMax}`,
);
