// Faults of signing in, of what is counted, and of the database's logins.
import type { PlantedFault } from "../planted-fault.ts";

export const signInFaults: readonly PlantedFault[] = [
  {
    says: "strangers shut the owner out at a known address",
    file: "services/auth/lockout.rules.ts",
    text: `if (attempt.known) return "open";`,
    replacement: "",
    tests: { "test/unit/services/auth/lockout.rules.test.ts": "" },
  },
  {
    says: "failures of the owner's own address take from what strangers may",
    file: "services/auth/lockout.rules.ts",
    text: "strangers: known ? strangers : increment(strangers, nowMs),",
    replacement: "strangers: increment(strangers, nowMs),",
    tests: { "test/unit/services/auth/lockout.rules.test.ts": "" },
  },
  {
    says: "a success gives a neighbour a fresh day of guesses",
    file: "services/auth/lockout.rules.ts",
    text: "{ ...newOriginCount(origin, nowMs), day: count.day } : count,",
    replacement: "newOriginCount(origin, nowMs) : count,",
    tests: { "test/unit/services/auth/lockout.rules.test.ts": "" },
  },
  {
    says: "a lock that a clock set back has made lasts for years",
    file: "services/auth/lockout.rules.ts",
    text: "return leftMs > 0 && leftMs <= lockSecondsMax * 1_000;",
    replacement: "return leftMs > 0;",
    tests: { "test/unit/services/auth/lockout.rules.test.ts": "" },
  },
  {
    says: "a day of guesses is an hour too short",
    file: "services/auth/tally.rules.ts",
    text: "const hoursKept = 25;",
    replacement: "const hoursKept = 24;",
    tests: { "test/unit/services/auth/lockout.rules.test.ts": "" },
  },
  {
    says: "the right password opens a locked account",
    file: "services/auth/settle-sign-in.ts",
    text: `if (state === "open" && verdict.is === "right") {`,
    replacement: `if (verdict.is === "right") {`,
    tests: { "test/api/login.test.ts": "the right password among them does not open a locked account" },
  },
  {
    says: "a sign-in at a known address passes over what is counted against the account",
    file: "services/auth/login.ts",
    text: `if (verdict.is !== "right" || facts.isCounted || facts.addressSeen !== "today")`,
    replacement: `if (verdict.is !== "right" || facts.addressSeen !== "today")`,
    tests: { "test/api/guesses.test.ts": "locks the address for the account" },
  },
  {
    says: "a device's hint is worth something with another account",
    file: "services/auth/device-hints.ts",
    text: "const text = `${tenantId}|${userId}|${device}|${ends}`;",
    replacement: "const text = `${tenantId}|${device}|${ends}|${userId > 0}`;",
    tests: { "test/unit/services/auth/device-hints.test.ts": "" },
  },
  {
    says: "a device's hint never ends",
    file: "services/auth/device-hints.ts",
    text: "right.length > 0 && Number(ends) * 1000 > nowMs ? device",
    replacement: "right.length > 0 ? device",
    tests: { "test/unit/services/auth/device-hints.test.ts": "" },
  },
  {
    says: "any hint of the right length is taken",
    file: "services/auth/device-hints.ts",
    text: "made.length === sent.length && timingSafeEqual(made, sent)",
    replacement: "made.length === sent.length",
    tests: { "test/unit/services/auth/device-hints.test.ts": "" },
  },
  {
    says: "of more than a hundred sessions the newest end",
    file: "services/auth/trim-sessions.ts",
    text: "created_at desc, id offset",
    replacement: "created_at, id offset",
    tests: { "test/api/bounds.test.ts": "who signs in once more ends the oldest" },
  },
  {
    says: "an account knows the ten addresses that it saw first",
    file: "services/auth/known-origins.ts",
    text: "order by seen_at desc, created_at desc, address offset",
    replacement: "order by seen_at, created_at, address offset",
    tests: { "test/api/guesses.test.ts": "are the ten newest" },
  },
  {
    says: "a token that was verified once is good for ever",
    file: "services/auth/verified-tokens.ts",
    text: "this.#sessionIds.set(token, sessionId, { ttl });",
    replacement: "this.#sessionIds.set(token, sessionId);",
    tests: {
      "test/unit/services/auth/access-token.test.ts":
        "is refused from its expiry on, also when it was good before",
    },
  },
  {
    says: "the sweep forgives failed sign-ins after two hours",
    file: "services/auth/sweep-sessions.ts",
    text: "where updated_at < now() - interval '2 days' limit ${batch}) and updated_at < now() - interval '2 days'`",
    replacement: "where updated_at < now() - interval '2 hours' limit ${batch})`",
    tests: { "test/api/session-sweep.test.ts": "the sweep takes what counts no more, and nothing else" },
  },
  {
    says: "a change of a caller whose session has ended meanwhile is committed",
    file: "services/shared/database/live-session.ts",
    text: "if (!lives) throw sessionEnded();",
    replacement: "void lives;",
    tests: { "test/database/tenancy/live-session.test.ts": "" },
  },
  {
    says: "a request joins a reading of its session that began before it",
    file: "services/shared/tenant-batches.ts",
    text: `const batch = this.#waiting.get(key)?.splice(0, this.#options.itemsMax) ?? [];
      if (batch.length === 0) break;
      await this.#writeBatch(key, batch);`,
    replacement: `const batch = this.#waiting.get(key) ?? [];
      if (batch.length === 0) break;
      await this.#writeBatch(key, batch);
      batch.length = 0;`,
    tests: { "test/unit/services/auth/session-reader.test.ts": "joins no reading that began before it" },
  },
  {
    says: "each refusal that repeats is an audit entry of its own",
    file: "services/shared/limits/audit-refusal.ts",
    text: "if (await isFirst(change, caller, facts, key)) change.audit(facts);",
    replacement: "await isFirst(change, caller, facts, key);\n  change.audit(facts);",
    tests: {
      "test/database/interleaved/forced-orders.test.ts":
        "of two that are the first in the same moment one is an entry",
    },
  },
  {
    says: "refusals of two users are counted as one",
    file: "services/shared/limits/audit-refusal.ts",
    text: "const who = userId ?? userOf(caller);",
    replacement: "const who = userId;",
    tests: { "test/api/audit/repeated-refusals.test.ts": "are users, actions, reasons and origins" },
  },
  {
    says: "what a tenant may have in a day has no bound",
    file: "services/shared/limits/daily-limit.ts",
    text: "if (taken <= bound) return true;",
    replacement: "return true;",
    tests: { "test/api/audit/repeated-refusals.test.ts": "takes so many entries" },
  },
  {
    says: "beyond a day's bound each refusal is told in the audit log",
    file: "services/shared/limits/daily-limit.ts",
    text: "if (taken - weight === bound) {",
    replacement: "if (taken > bound) {",
    tests: { "test/api/audit/repeated-refusals.test.ts": "takes so many entries" },
  },
  {
    says: "who was silent for long may ask without end",
    file: "services/shared/limits/token-buckets.ts",
    text: "Math.min(this.#capacity, bucket.tokens + (nowMs - bucket.atMs) * this.#perMs)",
    replacement: "bucket.tokens + (nowMs - bucket.atMs) * this.#perMs",
    tests: { "test/unit/services/shared/token-buckets.test.ts": "" },
  },
  {
    says: "what costs more counts like anything else",
    file: "services/shared/limits/token-buckets.ts",
    text: "const wanted = Math.min(weight, this.#capacity);",
    replacement: "const wanted = 1;",
    tests: { "test/unit/services/shared/token-buckets.test.ts": "" },
  },
  {
    says: "the messenger's login reads password hashes",
    file: "host/database/grants/messenger.ts",
    text: "users: `${users}, ${lock}`,",
    replacement: "users: `select, ${lock}`,",
    tests: { "test/database/logins/attacks.test.ts": "only where its services do" },
  },
  {
    says: "health's login writes entries in any service's name",
    file: "host/database/grants/health.ts",
    text: `audits: ["health", "log"],`,
    replacement: `audits: ["user", "auth", "patient", "health", "log"],`,
    tests: { "test/database/logins/grants.test.ts": "let each service write the entries" },
  },
  {
    says: "every login reads mails' tokens",
    file: "host/database/grants/rights.ts",
    text: `tenant_freezes: "select (tenant_id, until)",`,
    replacement: `tenant_freezes: "select (tenant_id, until)",\n  mail_tokens: "select",`,
    tests: { "test/database/logins/attacks.test.ts": "only where its services do" },
  },
  {
    says: "a right that is not declared any more stays",
    file: "host/database/grants/plan.ts",
    text: `return [...statements("revoke", "from", extra), ...statements("grant", "to", missing)];`,
    replacement: `return extra.length < 0 ? [] : statements("grant", "to", missing);`,
    tests: { "test/database/logins/grants.test.ts": "provisioning again" },
  },
  {
    says: "a process serves with a login that lacks a right",
    file: "host/database/guard-login.ts",
    text: "if (missing !== undefined)",
    replacement: "if (missing === actual[0] && missing !== undefined)",
    tests: { "test/database/logins/logins.test.ts": "a right was lost, and which" },
  },
  {
    says: "a login that is not declared any more still signs in",
    file: "host/database/provision-logins.ts",
    text: "for (const { role } of rows) if (role !== null) await owner.query(`alter role ${id(role)} nologin`);",
    replacement: "",
    tests: { "test/database/logins/logins.test.ts": "sign in no more and have no rights" },
  },
];
