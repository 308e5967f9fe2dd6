// Faults of the records: the audit log, people and departments, payments.
import type { PlantedFault } from "../planted-fault.ts";

export const recordFaults: readonly PlantedFault[] = [
  {
    says: "verify does not compare the last entry's hash with the head's",
    file: "services/audit/chain-verifier.ts",
    text: "this.#before?.includes(head.hash) === false",
    replacement: "false",
    tests: { "test/api/audit-chain.test.ts": "a head that names another hash" },
  },
  {
    says: "verify does not see that a log's tail is cut",
    file: "services/audit/verify-audit.ts",
    text: "verifier.reportMissing(endSeq);",
    replacement: "",
    tests: { "test/api/audit-chain.test.ts": "a cut tail" },
  },
  {
    says: "a session opens though its audit entry cannot be written, at a known address",
    file: "services/auth/login.ts",
    text: "await call.db.changeOnce(platform, call.caller, statement, openingEntry(verdict.opening));",
    replacement: `await call.db.write(platform, call.caller, statement);
  await call.db
    .change(platform, call.caller, async (change) => change.audit(openingEntry(verdict.opening)))
    .catch(() => undefined);`,
    tests: { "test/api/login.test.ts": "no session opens, from an address that" },
  },
  {
    says: "a session opens though its audit entry cannot be written, at a new address",
    file: "services/auth/settle-sign-in.ts",
    text: `await change.execute(text, values);`,
    replacement: `await call.db.write(platform, call.caller, { name: "auth.open_session", text, values });`,
    tests: { "test/api/login.test.ts": "no session opens, from an address that" },
  },
  {
    says: "failed sign-ins are counted without the row's lock",
    file: "services/auth/failure-counts.ts",
    text: `\`insert into lockouts (tenant_id, account, state) values ($1, $2, 'null'), ($3, $4, 'null')
     on conflict (tenant_id, account) do update set updated_at = now()
     returning account, state, (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms\`,`,
    replacement: `\`with made as (insert into lockouts (tenant_id, account, state)
       values ($1::integer, $2::text, 'null'), ($3::integer, $4::text, 'null') on conflict do nothing)
     select w.account, l.state, (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms
     from (values ($1::integer, $2::text, 1), ($3::integer, $4::text, 2)) as w (tenant_id, account, place)
     left join lockouts l on l.tenant_id = w.tenant_id and l.account = w.account order by w.place\`,`,
    tests: { "test/api/login.test.ts": "a guess waits for the one that is being counted" },
  },
  {
    says: "a doctor is deleted while becoming head",
    file: "services/tenants/change-departments.ts",
    text: "and role in ('head_doctor', 'doctor') for share`",
    replacement: "and role in ('head_doctor', 'doctor')`",
    tests: { "test/api/departments.test.ts": "are deleted does not: whoever makes them head waits" },
  },
  {
    says: "a user who becomes head is deleted in that moment, as nobody holds the row",
    file: "services/users/administer-user.ts",
    text: "const where = { id, tenantId: tenant.id, deletedAt: null };\n  const user = await change.entities.findOne(UserEntity, where, { lockMode: LockMode.PESSIMISTIC_WRITE });",
    replacement:
      "const where = { id, tenantId: tenant.id, deletedAt: null };\n  const user = await change.entities.findOne(UserEntity, where);",
    tests: { "test/api/departments.test.ts": "the other way round: the headship ends with it" },
  },
  {
    says: "two administrators who demote each other both succeed",
    file: "services/users/administer-user.ts",
    text: "and deleted_at is null) for no key update`",
    replacement: "and deleted_at is null)`",
    tests: {
      "test/api/users.test.ts": "of two admins who are taken away in the same moment the second stays",
    },
  },
  {
    says: "a chat is linked while the user is being blocked",
    file: "services/messenger/link.ts",
    text: "and u.deleted_at is null for no key update of u for share of t`",
    replacement: "and u.deleted_at is null`",
    tests: { "test/api/messenger.test.ts": "and then links nothing" },
  },
  {
    says: "a registration's full_name has no maximum",
    file: "services/users/accounts.contract.ts",
    text: "full_name: text({ min: 1, max: 200, trim: true }),",
    replacement: "full_name: text({ min: 1, trim: true }),",
    tests: { "test/api/register.test.ts": "string_too_long" },
  },
  {
    says: "notifications are swept after 9 days",
    file: "services/payments/sweep-notifications.ts",
    text: "const keptDays = 90;",
    replacement: "const keptDays = 9;",
    tests: { "test/api/payments/inbox.test.ts": "" },
  },
  {
    says: "two equal notifications of one batch both act",
    file: "services/payments/decide-batch.ts",
    text: "this.#notifications.set(key, { hash, state: line.state, tenantId: line.tenant_id });",
    replacement: "",
    tests: { "test/unit/services/payments/payment.rules.test.ts": "two that are equal act once" },
  },
  {
    says: "a batch of payments is written without its version check",
    file: "services/payments/inbox-statements.ts",
    text: "where payments.version = excluded.version - 1",
    replacement: "",
    tests: {
      "test/database/interleaved/forced-orders.test.ts":
        "a batch that was decided on an older version is not written at all",
    },
  },
  {
    says: "replicas that start together seed twice",
    file: "host/seed.ts",
    text: `await change.execute("select pg_advisory_xact_lock(hashtext('start.seed'))");`,
    replacement: "void change;",
    tests: { "test/database/interleaved/forced-orders.test.ts": "seed one after the other" },
  },
];
