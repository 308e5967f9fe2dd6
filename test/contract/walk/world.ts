// A service with tenants in every state, and the means to put people, departments, sessions and mail tokens into them
// straight through the database, so that each test begins from rows of its own.
import { argon2Sync, createHash, randomBytes, randomUUID } from "node:crypto";
import jwt from "jsonwebtoken";
import pg from "pg";
import { catalogue } from "../../../mixins/healing/catalogue.ts";
import { normaliseName } from "../../../services/shared/sealing/blind-index.ts";
import { currentCost, formatPhc } from "../../../services/shared/passwords/phc.ts";
import { identityText, TestKeyring } from "../../support/keyring.ts";
import { demoPassword, startService, type TestService } from "../../support/service.ts";
import { Wire } from "./wire.ts";

export const roles = ["superadmin", "admin", "head_doctor", "doctor", "nurse", "registrar"] as const;
export type Role = (typeof roles)[number];

/** A tenant as seen from the caller; "never" is an id nobody ever had. */
export const kinds = ["own", "other", "inactive", "deleted", "platform", "never"] as const;
export type Kind = (typeof kinds)[number];

export interface Tenant {
  id: number;
  subdomain: string;
}

export interface Person {
  id: number;
  tenantId: number;
  email: string;
}

export const password = demoPassword;

/** Of the demo password, at today's cost: a cheaper one would be made anew behind the back of a test that counts changes. */
const hash = (() => {
  const cost = currentCost;
  const salt = Uint8Array.from(randomBytes(16));
  const tag = argon2Sync("argon2id", {
    message: password,
    nonce: salt,
    parallelism: cost.lanes,
    memory: cost.memoryKib,
    passes: cost.passes,
    tagLength: 32,
  });
  return formatPhc({ ...cost, salt, tag: Uint8Array.from(tag) });
})();

/** Beyond every id the tests hand out, and within what an id can be. */
export const neverId = 1_999_999_999;

/** Of the one delivery that a webhook of the walk has. */
/** As the database makes them, they begin with the time: what is of 1970 would be long overdue, and deleted. */
const begunMs = Date.now().toString(16).padStart(12, "0");

export function deliveryIdOf(webhookId: number): string {
  return `msg_${begunMs}7000800${String(webhookId).padStart(13, "0")}`;
}

/** What is due by the clock, or is looked for by self-healing, comes at any moment, and of itself. */
const notOfClock = String.raw`coalesce(key, '') !~ '^(watch$|self-healing\.)|T\d\d:\d\d$'`;

export class World {
  readonly service: TestService;
  readonly wire: Wire;
  readonly tenants: Readonly<Record<Exclude<Kind, "never">, Tenant>>;
  readonly #owner: pg.Pool;
  readonly #keyId: string;
  readonly #keyring: TestKeyring;
  #count = 0;

  static async open(settings: Record<string, string> = {}): Promise<World> {
    // One try each: what is resent comes to rest at once.
    const service = await startService({ WEBHOOK_RETRY_SECONDS: "0", ...settings });
    const token = await service.signIn("doctor");
    const keyId = JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()).kid;
    const { rows } = await service.database.owner.query(
      "select id, subdomain from tenants where subdomain in ('platform', 'demo') order by subdomain",
    );
    const [own, platform] = rows;
    const wire = new Wire(service.url);
    const tenants = { own, platform, other: own, inactive: own, deleted: own };
    const world = new World(service, wire, tenants, keyId);
    // Rows are planted here as no service would leave them: nothing looks for faults by the clock.
    await world.sql(
      `insert into fault_looks (code, looked_at, found, duration_ms) select unnest($1::text[]), now() + interval '1 day', 0, 0
       on conflict (code) do update set looked_at = excluded.looked_at`,
      [catalogue.map(({ code }) => code)],
    );
    tenants.other = await world.addTenant();
    tenants.inactive = await world.addTenant({ is_active: false });
    tenants.deleted = await world.addTenant({ deleted_at: new Date() });
    return world;
  }

  private constructor(service: TestService, wire: Wire, tenants: World["tenants"], keyId: string) {
    this.service = service;
    this.#owner = new pg.Pool({ connectionString: service.database.url, max: 4 });
    this.wire = wire;
    this.tenants = tenants;
    this.#keyId = keyId;
    this.#keyring = new TestKeyring(this.#owner, service.settings.BOOT_SECRET ?? "");
  }

  /** Runs as the owner, whom no policy holds back. */
  async sql<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#owner.query(text, [...values])).rows;
  }

  async one<Row>(text: string, values: readonly unknown[] = []): Promise<Row> {
    const [row] = await this.sql<Row>(text, values);
    if (row === undefined) throw new Error(`no row: ${text}`);
    return row;
  }

  unique(): string {
    return `${(++this.#count).toString(36)}x${randomBytes(3).toString("hex")}`;
  }

  async addTenant(state: { is_active?: boolean; deleted_at?: Date } = {}): Promise<Tenant> {
    const subdomain = `t-${this.unique()}`;
    const { id } = await this.one<{ id: number }>(
      `insert into tenants (name, subdomain, settings, is_active, deleted_at) values ($1, $2, $3, $4, $5) returning id`,
      [
        "A Clinic",
        subdomain,
        JSON.stringify({ registration: "open", note: `foreign-canary-${subdomain}` }),
        state.is_active ?? true,
        state.deleted_at ?? null,
      ],
    );
    await this.addUser(id, "admin");
    await this.addDepartment(id);
    return { id, subdomain };
  }

  /** Someone who may sign in with the demo password; the name carries a canary that no other tenant may read. */
  async addUser(tenantId: number, role: Role = "doctor"): Promise<Person> {
    const email = `p-${this.unique()}@people.example`;
    const { id } = await this.one<{ id: number }>(
      `insert into users (tenant_id, email, full_name, role, approved_at, email_verified, password_hash)
       values ($1, $2, $3, $4, now(), true, $5) returning id`,
      [tenantId, email, `Person foreign-canary-${tenantId}-end`, role, hash],
    );
    return { id, tenantId, email };
  }

  async addDepartment(tenantId: number): Promise<number> {
    const { id } = await this.one<{ id: number }>(
      "insert into departments (tenant_id, name) values ($1, $2) returning id",
      [tenantId, `Unit foreign-canary-${tenantId}-end`],
    );
    return id;
  }

  /** Sealed as the service seals it; the name carries the tenant's canary. In no department. */
  async addPatient(tenantId: number): Promise<number> {
    const keys = await this.#keyring.of(tenantId);
    const name = `Patient foreign-canary-${tenantId}-end`;
    const { id } = await this.one<{ id: number }>("select nextval('patients_id_seq')::integer as id");
    await this.sql(
      `insert into patients (id, tenant_id, record_number, identity, full_name_index) values ($1, $2, $3, $4, $5)`,
      [
        id,
        tenantId,
        `W-${id}`,
        keys.seal("patients", "identity", id, identityText(name, null, null)),
        keys.blindIndex("full_name", normaliseName(name)),
      ],
    );
    return id;
  }

  /** A tenant may have fifty: those that a cell made for itself go. */
  async makeRoomForWebhooks(tenantId: number): Promise<void> {
    await this.sql(
      `update delivery_targets t set deleted_at = now(), is_active = false from webhooks w
       where t.tenant_id = $1 and t.deleted_at is null and w.tenant_id = t.tenant_id and w.id = t.id
         and w.url not like '%/kept'`,
      [tenantId],
    );
  }

  /** Sealed as the service seals it. @param kept of several cells */
  async addWebhook(tenantId: number, kept: boolean): Promise<number> {
    const keys = await this.#keyring.of(tenantId);
    const { id } = await this.one<{ id: number }>(
      `insert into delivery_targets (tenant_id, channel, events, last_seq) values ($1, 'webhook', '{restore.failed}', 1)
       returning id`,
      [tenantId],
    );
    // Where nothing is ever sent: registering it would be refused.
    const url = `https://10.0.0.1/foreign-canary-${tenantId}-end${kept ? "/kept" : ""}`;
    const secret = keys.seal("webhooks", "secret", id, `foreign-canary-${tenantId}-end`);
    await this.sql("insert into webhooks (tenant_id, id, url, secret) values ($1, $2, $3, $4)", [
      tenantId,
      id,
      url,
      secret,
    ]);
    await this.sql(
      `insert into deliveries (id, tenant_id, target_id, event_id, seq, kind, payload, occurred_at, due_at, state, finished_at)
       values ($1, $2, $3, 0, 1, 'restore.failed', $4, now(), now(), 'failed', now())`,
      [deliveryIdOf(id).slice(4), tenantId, id, JSON.stringify({ note: `foreign-canary-${tenantId}-end` })],
    );
    return id;
  }

  async addMailToken(person: Person, kind: "verify_email" | "reset_password"): Promise<string> {
    const token = randomBytes(32).toString("base64url");
    await this.sql(
      `insert into mail_tokens (tenant_id, user_id, kind, token_hash, expires_at)
       values ($1, $2, $3, $4, now() + interval '1 hour')`,
      [person.tenantId, person.id, kind, createHash("sha256").update(token).digest()],
    );
    return token;
  }

  /** A session as signing in makes it, without the work on the password. @returns its access token */
  async openSession(
    person: Pick<Person, "id" | "tenantId">,
    life: { expired?: boolean } = {},
  ): Promise<string> {
    const sessionId = randomUUID();
    const { role } = await this.one<{ role: Role }>(
      `with facts as (select u.session_epoch as user_epoch, t.session_epoch as tenant_epoch, u.role
         from users u join tenants t on t.id = u.tenant_id where u.id = $2),
       made as (insert into sessions (id, tenant_id, user_id, user_epoch, tenant_epoch, expires_at)
         select $1, $3, $2, user_epoch, tenant_epoch, now() + interval '1 day' from facts)
       select role from facts`,
      [sessionId, person.id, person.tenantId],
    );
    const now = Math.floor(Date.now() / 1000);
    const [iat, exp] = life.expired === true ? [now - 100, now - 1] : [now, now + 3600];
    const claims = { tid: person.tenantId, role, sid: sessionId, iat, exp };
    return jwt.sign(claims, this.service.settings.JWT_SECRET ?? "", {
      algorithm: "HS256",
      keyid: this.#keyId,
      issuer: "records",
      audience: "records-api",
      subject: String(person.id),
    });
  }

  /** One hash over all rows of all tables, but for the log of what was asked, the counters of how often, and known faults. */
  async checksum(): Promise<string> {
    await this.jobsDone();
    const tables = await this.sql<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where (schemaname = 'public' and tablename not in ('audit_entries', 'audit_heads', 'audit_repeats', 'audit_proofs',
           'audit_checkpoints', 'audit_signing_keys', 'daily_counts', 'rate_limits', 'lockouts', 'fixes', 'incidents', 'incident_steps', 'fault_looks', 'schedule_occurrences'))
         or (schemaname, tablename) = ('graphile_worker', '_private_jobs') order by 1`,
    );
    const parts = tables.map(
      ({ name }) =>
        `select '${name} ' || coalesce(md5(string_agg(md5(t::text), '' order by md5(t::text))), '-') as sum from ${name} t
         where ${name === "graphile_worker._private_jobs" ? notOfClock : "true"}`,
    );
    const sums = await this.sql<{ sum: string }>(parts.join(" union all "));
    // In an order of its own: several workers may look at the tables.
    return sums
      .map(({ sum }) => sum)
      .sort()
      .join("\n");
  }

  /** Mails are sent by jobs after the answer; a checksum is only worth something when none is under way. */
  async jobsDone(): Promise<void> {
    const deadline = performance.now() + 10_000;
    while (performance.now() < deadline) {
      const [left] = await this.sql<{ jobs: number }>(
        `select (select count(*) from graphile_worker._private_jobs)::integer
           + (select count(*) from fan_out_queue)::integer + (select count(*) from deliveries where state = 'pending')::integer
           + (select count(*) from delivery_targets where leased_by is not null)::integer as jobs`,
      );
      if (left?.jobs === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error("jobs are still under way");
  }

  async stop(): Promise<void> {
    this.wire.close();
    await this.#owner.end();
    await this.service.stop();
  }
}
