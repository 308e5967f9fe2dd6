// Faults of backups and restores.
import type { PlantedFault } from "../planted-fault.ts";

export const backupFaults: readonly PlantedFault[] = [
  {
    says: "a backup gives way to the service's own calls",
    file: "host/process/calls-for-others.ts",
    text: `principal.kind === "system" || `,
    replacement: "",
    tests: { "test/unit/services/backups/pace.test.ts": "the service's own, as of jobs" },
  },
  {
    says: "what is read of the database goes on while a backup rests",
    file: "services/backups/moving/pace.ts",
    text: "reading?.hold();",
    replacement: "",
    tests: { "test/unit/services/backups/pace.test.ts": "what brings more rests too" },
  },
  {
    says: "a backup is not read back before it is listed",
    file: "services/backups/make-backup.ts",
    text: `await moving.check(
    { manifest, data: keys.data },
    ({ share: part }) => progress.reading({ share: part }),
    signal,
  );`,
    replacement: "",
    tests: {
      "test/database/backups/table-decisions.test.ts": "which the store does not give back as it was written",
    },
  },
  {
    says: "a table's sum is not compared when an archive is read",
    file: "services/backups/archive/read-archive.ts",
    text: `|| this.#hash.digest("hex") !== table.sha256) throw wrong();`,
    replacement: ") throw wrong();",
    tests: { "test/database/backups/table-decisions.test.ts": "whose writer was wrong about itself" },
  },
  {
    says: "the file's sum is not compared when an archive is read",
    file: "services/backups/archive/read-archive.ts",
    text: `if (sum.digest("hex") !== file.sha256)`,
    replacement: `if (sum.digest("hex") === "")`,
    tests: { "test/database/backups/table-decisions.test.ts": "of another file's sum is refused" },
  },
  {
    says: "an archive of fewer tables than its manifest names is taken for whole",
    file: "services/backups/archive/read-archive.ts",
    text: "if (!isWhole || this.#own?.toString()",
    replacement: "if (this.#own?.toString()",
    tests: { "test/database/backups/table-decisions.test.ts": "whose writer was wrong about itself" },
  },
  {
    says: "the chunks of an archive may stand in any order",
    file: "services/shared/archive/sealed-stream.ts",
    text: "nonce.writeUIntBE(chunk, 5, 6);",
    replacement: "",
    tests: { "test/unit/services/shared/archive/sealed-stream.test.ts": "with two chunks exchanged" },
  },
  {
    says: "an archive's end may be cut off between two chunks",
    file: "services/shared/archive/sealed-stream.ts",
    text: "nonce[11] = last ? 1 : 0;",
    replacement: "",
    tests: { "test/unit/services/shared/archive/sealed-stream.test.ts": "without its last chunk" },
  },
  {
    says: "an archive opens under another's name",
    file: "services/shared/archive/sealed-stream.ts",
    text: `createHash("sha256").update(name).digest().copy(head, 12);`,
    replacement: "void name;",
    tests: {
      "test/unit/services/shared/archive/sealed-stream.test.ts":
        "under another name that is written into its head",
    },
  },
  {
    says: "a manifest is believed unproved",
    file: "services/backups/archive/manifest.ts",
    text: "if (given.length !== right.length || !timingSafeEqual(given, right))",
    replacement: "if (given.length !== right.length)",
    tests: {
      "test/database/backups/table-decisions.test.ts":
        "whose manifest was changed in anything at all is not believed",
    },
  },
  {
    says: "a tenant stays frozen after a restore that failed",
    file: "services/backups/restore-tenant.ts",
    text: "await freeze.end();",
    replacement: "",
    tests: {
      "test/api/backups/restore.test.ts": "a restore that fails while the rows are exchanged changes nothing",
    },
  },
  {
    says: "a restore does not move the sequences of ids",
    file: "services/backups/restore-tenant.ts",
    text: "await bulk.query(sequenceText, highest);",
    replacement: "",
    tests: { "test/api/backups/restore.test.ts": "ids go on behind those of the archive" },
  },
  {
    says: "a restore keeps no backup of the present",
    file: "services/backups/restore-tenant.ts",
    text: "const safetyBackupId = await makeSafetyBackup(restore);",
    replacement: 'const safetyBackupId = `bk_${"0".repeat(32)}`;',
    tests: { "test/api/backups/restore.test.ts": "leaves a safety backup" },
  },
  {
    says: "a restore begins before the whole archive was checked",
    file: "services/backups/restore-tenant.ts",
    text: `const laidOut = await layOut(restore, steps);
    const safetyBackupId = await makeSafetyBackup(restore);`,
    replacement: `const safetyBackupId = await makeSafetyBackup(restore);
    const laidOut = await layOut(restore, steps);`,
    tests: { "test/api/backups/hostile.test.ts": "one flipped bit ends the job before anything changes" },
  },
  {
    says: "a restore does not wait for writes under way",
    file: "services/backups/restore-tenant.ts",
    text: "await bulk.query(`select pg_advisory_xact_lock(${swapLock}, $1)`, [tenantId]);",
    replacement: "",
    tests: { "test/api/backups/restore.test.ts": "a write that is under way is waited for" },
  },
  {
    says: "a restore turns roles back, against the table's decision",
    file: "services/backups/restore-statements.ts",
    text: `update users c set updated_at = now(), \${setFromArchive(["email", "full_name", "department_id", "created_at"])}`,
    replacement: `update users c set updated_at = now(), \${setFromArchive(["email", "full_name", "department_id", "created_at", "role"])}`,
    tests: {
      "test/api/backups/restore.test.ts":
        "turns back no block, no role, no password, no session and no sight",
    },
  },
  {
    says: "a user whose row was gone comes back active",
    file: "services/backups/restore-statements.ts",
    text: "select s.id, $2, s.department_id, s.email, s.full_name, s.role, false, false,",
    replacement: "select s.id, $2, s.department_id, s.email, s.full_name, s.role, false, true,",
    tests: { "test/api/backups/restore.test.ts": "a user whose row is gone comes back blocked" },
  },
  {
    says: "a restore lets patients keep their versions, so that stale clients are believed",
    file: "services/backups/restore-statements.ts",
    text: "select s.id, $2, s.version + 1, ${patientColumns",
    replacement: "select s.id, $2, s.version, ${patientColumns",
    tests: { "test/api/backups/restore.test.ts": "" },
  },
  {
    says: "a frozen tenant's users are let in",
    file: "services/auth/session-reader.ts",
    text: "from tenant_freezes f where f.tenant_id = s.tenant_id and f.until > now()) as frozen",
    replacement: "from tenant_freezes f where false) as frozen",
    tests: { "test/api/backups/restore.test.ts": "keeps one tenant out with 503" },
  },
  {
    says: "a tenant has several plans of a restore made at a time",
    file: "services/backups/plan-restore.ts",
    text: "known?.isMade === false || underWay",
    replacement: "underWay",
    tests: { "test/api/backups/abuse.test.ts": "are made one at a time for a tenant" },
  },
  {
    says: "a download's link can be used twice",
    file: "services/backups/download.ts",
    text: "with taken as (delete from backup_tickets where token_hash = $1 returning *)",
    replacement: "with taken as (select * from backup_tickets where token_hash = $1)",
    tests: { "test/api/backups/backups.test.ts": "by a link: once" },
  },
  {
    says: "a download's link never ends",
    file: "services/backups/download.ts",
    text: "where t.expires_at > now()`",
    replacement: "where true`",
    tests: { "test/api/backups/backups.test.ts": "by a link: once" },
  },
  {
    says: "the retention removes the newest backups",
    file: "services/backups/retention.rules.ts",
    text: "b.takenAt.getTime() - a.takenAt.getTime()",
    replacement: "a.takenAt.getTime() - b.takenAt.getTime()",
    tests: { "test/unit/services/backups/retention.rules.test.ts": "" },
  },
  {
    says: "the retention removes what a person made",
    file: "services/backups/sweep-backups.ts",
    text: `rows.filter(({ reason }) => reason === "nightly"),`,
    replacement: "rows,",
    tests: { "test/api/backups/by-clock.test.ts": "" },
  },
  {
    says: "the sweep removes archives that have a manifest",
    file: "services/backups/sweep-backups.ts",
    text: `if (keys.includes("manifest") || newest`,
    replacement: "if (newest",
    tests: { "test/api/backups/by-clock.test.ts": "never one with a manifest" },
  },
  {
    says: "a backup's job is taken from a worker that lives",
    file: "services/backups/job-store.ts",
    text: "and (leased_until is null or leased_until < now())",
    replacement: "",
    tests: { "test/api/backups/by-clock.test.ts": "is not taken from a worker that lives" },
  },
  {
    says: "a worker ends a job that another one has taken up",
    file: "services/backups/job-store.ts",
    text: "where id = $1 and leased_by = $2 and status = any($6) returning id`",
    replacement: "where id = $1 and $2::uuid is not null and status = any($6) returning id`",
    tests: {
      "test/database/interleaved/forced-orders.test.ts": "of two workers of a backup's job one ends it",
    },
  },
  {
    says: "a key is destroyed that a backup needs",
    file: "services/crypto/retire-keys.ts",
    text: "else if (!archived) await destroyDataKey",
    replacement: "else await destroyDataKey",
    tests: { "test/database/interleaved/forced-orders.test.ts": "keeps a key that a backup may need" },
  },
];
