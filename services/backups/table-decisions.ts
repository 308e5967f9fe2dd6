// The decision for each table in a backup and in a restore. A test compares this list with the database, so
// that a new table without a decision fails, and with the table in README.md.
// `full`: whether a full backup contains the rows. `tenant`: `restored` = as in the archive; `merged` = some
// columns as in the archive, the others unchanged; `kept` = unchanged, and not in a tenant's archive.

/** The decision for one table. */
export interface TableDecision {
  readonly full: "copied" | "left out";
  readonly tenant: "restored" | "merged" | "kept";
  readonly why: string;
  /** Columns that an archive never contains. */
  readonly without?: { readonly full?: readonly string[]; readonly tenant?: readonly string[] };
}

export const tableDecisions = {
  tenants: {
    full: "copied",
    tenant: "merged",
    why: "Name and settings as they were; whether it is active or deleted, who may register, its subdomain and its epoch as they are.",
  },
  departments: { full: "copied", tenant: "restored", why: "As they were." },
  users: {
    full: "copied",
    tenant: "merged",
    why: "Who was deleted since comes back blocked, who was added since is deleted; name, department and e-mail as they were. Role, block, approval, sight, password and epoch stay as they are. An active administrator who was added since stays. Whose row was purged comes back without a password too.",
    without: { tenant: ["password_hash"] },
  },
  user_counts: { full: "left out", tenant: "kept", why: "Counted by triggers as users come and go." },
  preferences: { full: "copied", tenant: "restored", why: "As they were." },
  patients: {
    full: "copied",
    tenant: "restored",
    why: "As they were, who was added since is deleted. Stamps are new, versions go on, so that neither a cache nor a stale client is believed.",
    without: { full: ["stamp"], tenant: ["stamp"] },
  },
  patient_records: { full: "copied", tenant: "restored", why: "As they were." },
  sessions: { full: "left out", tenant: "kept", why: "A session that ended stays ended." },
  mail_tokens: { full: "left out", tenant: "kept", why: "A token that was used or voided stays so." },
  lockouts: { full: "left out", tenant: "kept", why: "Guesses that were counted stay counted." },
  known_origins: {
    full: "left out",
    tenant: "kept",
    why: "Where an account signed in from is learned anew by signing in.",
  },
  registrations: {
    full: "left out",
    tenant: "kept",
    why: "Whoever has not verified the address yet registers again, or asks for a mail.",
  },
  rate_limits: { full: "left out", tenant: "kept", why: "Counts of minutes and of the day." },
  audit_heads: { full: "copied", tenant: "kept", why: "The log is never rolled back." },
  audit_entries: { full: "copied", tenant: "kept", why: "The log is never rolled back." },
  audit_repeats: { full: "left out", tenant: "kept", why: "Refusals that go on at this moment." },
  audit_checkpoints: { full: "copied", tenant: "kept", why: "What is signed is on its way out." },
  audit_sinks: { full: "copied", tenant: "kept", why: "How far places outside have what is signed." },
  audit_signing_keys: { full: "copied", tenant: "kept", why: "Public keys, so that an old one stays known." },
  audit_proofs: { full: "copied", tenant: "kept", why: "Where the next checkpoint goes on." },
  daily_counts: { full: "copied", tenant: "kept", why: "What was counted stays counted." },
  events: {
    full: "copied",
    tenant: "kept",
    why: "What was told was told.",
    without: { full: ["trace"] },
  },
  fan_out_queue: { full: "copied", tenant: "kept", why: "What is to be told is told." },
  delivery_targets: {
    full: "copied",
    tenant: "kept",
    why: "Who was told of events; a webhook that was deleted may have leaked.",
  },
  deliveries: {
    full: "copied",
    tenant: "kept",
    why: "What was sent was sent.",
    without: { full: ["trace"] },
  },
  delivery_attempts: { full: "copied", tenant: "kept", why: "What was sent was sent." },
  webhooks: { full: "copied", tenant: "kept", why: "Addresses and secrets that were taken away stay away." },
  messenger_links: { full: "copied", tenant: "kept", why: "A chat that was unlinked stays unlinked." },
  messenger_codes: { full: "left out", tenant: "kept", why: "Good for ten minutes." },
  messenger_updates: {
    full: "copied",
    tenant: "kept",
    why: "An update that was taken in acts no second time.",
  },
  messenger_bots: { full: "left out", tenant: "kept", why: "Who speaks at this moment." },
  payments: { full: "copied", tenant: "kept", why: "What providers told stays told." },
  payment_notifications: {
    full: "copied",
    tenant: "kept",
    why: "A notification that was taken in acts no second time.",
  },
  master_keys: { full: "copied", tenant: "kept", why: "The ring of keys only grows; still wrapped." },
  data_keys: { full: "copied", tenant: "kept", why: "The ring of keys only grows; still wrapped." },
  rotations: { full: "copied", tenant: "kept", why: "The history of the keys." },
  rotation_tenants: { full: "copied", tenant: "kept", why: "A rotation goes on where it was." },
  quarantined_fields: {
    full: "copied",
    tenant: "kept",
    why: "What does not open is looked at again anyway.",
  },
  backups: { full: "left out", tenant: "kept", why: "Read from the store, which knows better." },
  backup_jobs: { full: "left out", tenant: "kept", why: "The very job that restores is in it." },
  backup_tickets: { full: "left out", tenant: "kept", why: "Good for a minute." },
  archive_keys: { full: "left out", tenant: "kept", why: "Each archive's manifest brings its own." },
  tenant_freezes: { full: "left out", tenant: "kept", why: "Who is being restored at this moment." },
  fixes: {
    full: "left out",
    tenant: "kept",
    why: "What was confirmed for an installation that is lost is confirmed anew for the new one.",
  },
  incidents: { full: "left out", tenant: "kept", why: "What is still wrong is found again." },
  incident_steps: { full: "left out", tenant: "kept", why: "What is still wrong is found again." },
  fault_looks: { full: "left out", tenant: "kept", why: "Looking begins anew." },
  schedule_occurrences: { full: "left out", tenant: "kept", why: "What is due is due again after a day." },
  database_logins: { full: "left out", tenant: "kept", why: "Written by provisioning at every start." },
  mikro_orm_migrations: { full: "left out", tenant: "kept", why: "The manifest names the schema." },
  schema_compatibility: {
    full: "left out",
    tenant: "kept",
    why: "Written with the tables that it speaks of.",
  },
} as const satisfies Record<string, TableDecision>;

export type BackupType = "full" | "tenant";
export type TableName = keyof typeof tableDecisions;

const decisions: readonly (readonly [TableName, TableDecision])[] = Object.entries(tableDecisions).map(
  // Object.entries loses the type of the names.
  ([name, decision]) => [name as TableName, decision],
);

/** The tables of an archive, in their order in it. */
export function tablesOf(type: BackupType): TableName[] {
  return decisions
    .filter(([, decision]) => (type === "full" ? decision.full === "copied" : decision.tenant !== "kept"))
    .map(([name]) => name);
}

/** The columns of the table that an archive of this type does not contain. */
export function columnsLeftOut(type: BackupType, table: TableName): readonly string[] {
  const decision: TableDecision = tableDecisions[table];
  return decision.without?.[type] ?? [];
}

/** The table in README.md, which a test compares. */
export function decisionsTable(): string {
  const rows = decisions.map(
    ([name, { full, tenant, why }]) => `| \`${name}\` | ${full} | ${tenant} | ${why} |`,
  );
  return ["| Table | Full backup | Restore of a tenant | Why |", "|---|---|---|---|", ...rows].join("\n");
}
