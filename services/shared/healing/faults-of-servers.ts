// Known faults of PostgreSQL. All need the owner of the tables, so none has a remedy here.
import type { KnownFault } from "./known-fault.ts";

export const faultsOfServers = {
  invalid_index: {
    at: ["self-healing"],
    title: "An index that is not valid",
    problem:
      "An index was not built to its end: it costs every write, and helps no read. REINDEX INDEX CONCURRENTLY builds it anew.",
    remedy: null,
    never: "Drops or builds an index: that takes the owner's rights, and a moment that a person chooses.",
    risk: "medium",
    everyMinutes: 10,
  },
  statistics_stale: {
    at: ["self-healing"],
    title: "Statistics that are far out of date",
    problem:
      "More than half of a table's rows have changed since it was last analyzed, more than a day ago: plans may be bad. ANALYZE mends it.",
    remedy: null,
    never: "Changes the settings of autovacuum.",
    risk: "medium",
    everyMinutes: 30,
  },
  vacuum_behind: {
    at: ["self-healing"],
    title: "A table that autovacuum does not keep up with",
    problem:
      "A table has more dead rows than live ones, and was not vacuumed for a day. Something holds an old transaction, or autovacuum is off.",
    remedy: null,
    never: "Changes the settings of autovacuum, or ends anybody's work.",
    risk: "medium",
    everyMinutes: 30,
  },
  transaction_ids_run_out: {
    at: ["self-healing"],
    title: "Transaction ids that run out",
    problem:
      "The database's oldest transaction is more than a thousand million behind. At twice that PostgreSQL stops writing. VACUUM FREEZE mends it.",
    remedy: null,
    never: "Vacuums by itself: that takes the owner's rights.",
    risk: "high",
    everyMinutes: 10,
  },
} as const satisfies Record<string, KnownFault>;
