// Known faults of PostgreSQL and of nodes. None has a remedy here: a remedy needs the rights of the tables' owner, or of the
// operator who runs the processes.
import type { KnownFault } from "./known-fault.ts";

export const faultsOfServers = {
  invalid_index: {
    at: ["self-healing"],
    title: "An index that is not valid",
    problem:
      "An index was not built to its end: it costs every write, and helps no read. REINDEX INDEX CONCURRENTLY rebuilds it.",
    remedy: null,
    never: "Drops or builds an index: that needs the owner's rights, and a person chooses the moment.",
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
    never: "Vacuums by itself: that needs the owner's rights.",
    risk: "high",
    everyMinutes: 10,
  },
  connections_run_out: {
    at: ["self-healing"],
    title: "Connections of the database that run out",
    problem:
      "More than 85 % of the connections that PostgreSQL allows are open. When all are open, new connections are refused.",
    remedy: null,
    never:
      "Ends anybody's connection. Lower DATABASE_POOL_MAX, raise max_connections, or put a pooler before it.",
    risk: "high",
    everyMinutes: 5,
  },
  tenancy_wall_down: {
    at: ["self-healing"],
    title: "Separation of tenants that is not enforced",
    problem:
      "A table with tenants' rows lacks forced row-level security, or its policy, a view or a function was changed since the processes started. A process does not start in that state.",
    remedy: null,
    never: "Changes a table or a policy: that needs the owner's rights, and somebody has used them.",
    risk: "high",
    everyMinutes: 10,
  },
  certificate_ends: {
    at: ["backups", "mail", "messenger", "self-healing"],
    title: "A certificate that ends soon",
    problem:
      "A certificate ends in less than 14 days (a short-lived one in less than a fifth of its life): of PUBLIC_URL, NATS_URL, the database, the mail server, the S3 server or the messenger, or in S3_CA_FILE, NATS_CA_FILE and NATS_CERT_FILE.",
    remedy: null,
    never:
      "Renews or trusts a certificate. A server that cannot be reached is not taken for one whose certificate ends.",
    risk: "high",
    everyMinutes: 60,
  },
  disk_filling: {
    at: ["self-healing"],
    title: "A disk that fills up",
    problem: "The disk under a node's DATA_DIR is fuller than its DISK_USED_MAX_PERCENT.",
    remedy: null,
    never: "Deletes a file to make room.",
    risk: "high",
    everyMinutes: 5,
  },
  clocks_apart: {
    at: ["self-healing"],
    title: "A node whose clock is wrong",
    problem:
      "A node's clock is more than two seconds from the database's. From half a minute on its calls are refused.",
    remedy: null,
    never: "Sets a clock.",
    risk: "medium",
    everyMinutes: 5,
  },
  nodes_of_two_versions: {
    at: ["self-healing"],
    title: "Nodes of two versions",
    problem:
      "Nodes have run different versions side by side for more than an hour: an upgrade has stopped half way.",
    remedy: null,
    never: "Stops or starts a process.",
    risk: "medium",
    everyMinutes: 5,
  },
  node_silent: {
    at: ["self-healing"],
    title: "A node that lives but answers no call",
    problem:
      "A node sends heartbeats, so that others call it, and has twice not answered a call within three seconds.",
    remedy: null,
    never: "Stops a process: its liveness probe has it restarted.",
    risk: "high",
    everyMinutes: 1,
  },
} as const satisfies Record<string, KnownFault>;
