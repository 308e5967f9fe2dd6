// What logins may do in the database is what is declared, nothing less and nothing more; and everything there is to have a
// right to stands in a declaration.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readGrants, readObjects } from "../../../host/database/grants/catalogue.ts";
import { grantsFor, grantsIn, keyOf } from "../../../host/database/grants/plan.ts";
import { internalObjects, rightsByService } from "../../../host/database/grants/registry.ts";
import { atStart, everyLogin } from "../../../host/database/grants/rights.ts";
import {
  defaultLogins,
  everyRoleOf,
  furtherRolesOf,
  type Login,
  loginsOf,
  platformRoleOf,
} from "../../../host/database/logins.ts";
import type { Access } from "../../../services/shared/access.ts";
import { type EventKind, eventKinds } from "../../../services/shared/event-kinds.ts";
import { provision } from "../../../host/database/provision.ts";
import { startDatabase, type TestDatabase, testSettings } from "../../support/service.ts";

let database: TestDatabase;
const logins = loginsOf("records", defaultLogins) ?? [];
const provisioned = () =>
  provision({ ownerUrl: database.url, bootSecret: testSettings(database)["BOOT_SECRET"] ?? "" });

beforeAll(async () => {
  database = await startDatabase();
  await provisioned();
});
afterAll(() => database.stop());

const granted = async (roles: readonly string[]) =>
  (await readGrants(database.owner, roles)).map(keyOf).sort();

async function undecided(): Promise<string[]> {
  const declared = [
    everyLogin,
    atStart,
    ...Object.values(rightsByService).flatMap(({ tenant, platform = {} }) => [tenant, platform]),
  ];
  const known = new Set(
    declared.flatMap((privileges) => grantsIn("", privileges)).map(({ on, object }) => `${on} ${object}`),
  );
  const all = (await readObjects(database.owner)).map(({ on, object }) => ({
    object,
    key: `${on} ${object}`,
  }));
  return all
    .filter(({ object, key }) => !known.has(key) && !(object in internalObjects))
    .map(({ key }) => key);
}

interface Declared {
  service: string;
  action: { audits: string; access: Access };
}

async function declaredActions(): Promise<Declared[]> {
  const folder = join(import.meta.dirname, "../../../services");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".contract.ts"),
  );
  const modules = await Promise.all(
    files.map(async (file) => {
      const contracts: Record<string, unknown> = await import(join(folder, file));
      return { service: file.split("/")[0] ?? "", contracts };
    }),
  );
  return modules.flatMap(({ service, contracts }) =>
    Object.values(contracts)
      .filter((each) => typeof each === "object" && each !== null)
      .flatMap((contract) => Object.values(contract as Record<string, unknown>))
      // Shapes of results stand beside the contracts in these files.
      .filter(
        (each): each is Declared["action"] => typeof each === "object" && each !== null && "audits" in each,
      )
      .map((action) => ({ service, action })),
  );
}

describe("the declarations", () => {
  it("name every table, view, sequence and privileged function, or say why nobody may use it", async () => {
    expect(await undecided()).toEqual([]);
  });
  it("miss a table that nobody has decided about", async () => {
    await database.owner.query("create table undecided (id integer generated always as identity)");
    try {
      // The sequence of an identity is its column's.
      expect(await undecided()).toEqual(["table undecided"]);
    } finally {
      await database.owner.query("drop table undecided");
    }
  });
  it("name nothing of nobody's that is not there", async () => {
    const all = (await readObjects(database.owner)).map(({ object }) => object);
    expect(Object.keys(internalObjects).filter((object) => !all.includes(object))).toEqual([]);
  });
  it("let each service write the entries that its contracts name, and no other service does", async () => {
    const resources = new Map<string, string>();
    for (const { service, action } of await declaredActions())
      if (action.access.who !== "services") resources.set(action.audits.split(".")[0] ?? "", service);
    expect(resources.size).toBeGreaterThan(10);
    for (const [resource, service] of resources) {
      const writers = Object.entries(rightsByService).filter(([, { audits }]) => audits.includes(resource));
      // A service that only reads writes no entry of its own.
      const expected = rightsByService[service]?.audits.length === 0 ? [] : [service];
      expect([resource, writers.map(([name]) => name)]).toEqual([resource, expected]);
    }
  });
  it("let each kind of event be told by one service, but for those of services to come", () => {
    const tellers = (kind: EventKind) =>
      Object.values(rightsByService).filter(({ publishes: tells }) => tells?.includes(kind)).length;
    const untold = eventKinds.filter((kind) => tellers(kind) !== 1);
    expect(untold.filter((kind) => !/^(?:backup|restore|fix)\./.test(kind))).toEqual([]);
    expect(untold.filter((kind) => tellers(kind) > 1)).toEqual([]);
  });
  it("give only the default logins all services between them, each once beside the one for all", () => {
    const [all, ...others] = defaultLogins;
    expect(others.flatMap(({ services }) => services).sort()).toEqual([...(all?.services ?? [])].sort());
  });
});

describe("the catalogue", () => {
  it.each(logins.map((login) => [login.name, login] as const))(
    "has for %s exactly what is declared",
    async (_name, login) => {
      const wanted = grantsFor(login).map(keyOf).sort();
      expect(await granted(everyRoleOf(login.name))).toEqual(wanted);
    },
  );
  it("has nothing for everybody, nor for the roles of the policies", async () => {
    expect(await granted(["records_app", "records_platform"])).toEqual([]);
  });
  it("has roles that own nothing, make nothing, bypass nothing, and are members of what they work as", async () => {
    const { rows } = await database.owner.query(
      `select r.rolname::text as name, r.rolcanlogin as login, r.rolinherit as inherit,
         r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolcreatedb or r.rolreplication as privileged,
         (select coalesce(array_agg(m.roleid::regrole::text || ' ' || m.inherit_option || ' ' || m.set_option || ' '
           || m.admin_option order by 1), '{}') from pg_auth_members m where m.member = r.oid) as member_of
       from pg_roles r where r.rolname = any($1) order by 1`,
      [logins.flatMap(({ name }) => everyRoleOf(name))],
    );
    const plain = { inherit: true, privileged: false };
    const further = (login: Pick<Login, "name" | "services">) =>
      furtherRolesOf(login).map(({ role }) => role);
    const expected = logins.flatMap(({ name, services }) => [
      {
        ...plain,
        name,
        login: true,
        member_of: [
          "records_app true false false",
          `${platformRoleOf(name)} false true false`,
          ...further({ name, services }).map((role) => `${role} false true false`),
        ],
      },
      {
        ...plain,
        name: platformRoleOf(name),
        login: false,
        member_of: ["records_platform true false false"],
      },
      ...further({ name, services }).map((role) => ({
        ...plain,
        name: role,
        login: false,
        member_of: ["records_app true false false"],
      })),
    ]);
    expect(rows.map((row) => ({ ...row, member_of: row.member_of.sort() }))).toEqual(
      expected
        .map((row) => ({ ...row, member_of: row.member_of.sort() }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    );
  });
});

describe("provisioning again", () => {
  const all = logins.flatMap(({ name }) => everyRoleOf(name));
  const everything = () => granted([...all, "records_app", "records_platform"]);

  it.each([
    ["a table that was opened", "grant select, delete on master_keys to records_support"],
    ["a table that was opened to everybody", "grant select on users to public"],
    [
      "a table that was opened to all of the application",
      "grant all on events to records_app, records_platform",
    ],
    ["a column that was opened", "grant select (password_hash) on users to records_outbound_platform"],
    ["a function that was opened", "grant execute on function append_entries to public"],
    ["a right that was taken away", "revoke select on users from records_accounts"],
    ["a right to columns that became one to the table", "grant select on users to records_accounts"],
    ["the queue that was opened", "grant insert on graphile_worker._private_jobs to records_outbound"],
  ])("mends %s", async (_what, breaking) => {
    const before = await everything();
    await database.owner.query(breaking);
    expect(await everything()).not.toEqual(before);
    await provisioned();
    expect(await everything()).toEqual(before);
  });

  it("mends memberships", async () => {
    const members = async () =>
      (
        await database.owner.query(
          `select roleid::regrole::text, member::regrole::text, inherit_option, set_option from pg_auth_members
           where member::regrole::text like 'records\\_%' order by 1, 2`,
        )
      ).rows;
    const before = await members();
    await database.owner.query(`grant records_platform to records_outbound with inherit true, set true;
      revoke records_app from records_support; grant records_crypto_platform to records_support`);
    await provisioned();
    expect(await members()).toEqual(before);
  });

  it("changes nothing where nothing differs", async () => {
    const written = async () =>
      (
        await database.owner.query(
          "select sum(n_tup_upd + n_tup_ins + n_tup_del)::integer as n from pg_stat_sys_tables where relname in ('pg_class', 'pg_attribute', 'pg_proc', 'pg_auth_members')",
        )
      ).rows[0].n;
    const flush = () => database.owner.query("select pg_stat_force_next_flush(), pg_stat_clear_snapshot()");
    await provisioned();
    await flush();
    const before = await written();
    await provisioned();
    await flush();
    expect(await written()).toBe(before);
  });
});
