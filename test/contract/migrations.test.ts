// Expand and contract are two releases: what a migration takes away, the release before it must do without already, and the
// list says so. Read from the migrations' own SQL.
import { describe, expect, it } from "@jest/globals";
import { migrations } from "../../migrations/all.ts";
import { compareVersions, laterOf } from "../../services/shared/database/versions.ts";
import { version } from "../../services/shared/version.ts";
import { type Judged, listFaults, narrowed } from "../support/narrowing.ts";

/** They only collect statements, and ask nothing of the two. */
function sqlOf({ class: Kind }: (typeof migrations)[number]): string {
  const migration = new Kind(undefined as never, undefined as never);
  void migration.up();
  return migration.getQueries().map(String).join(";\n");
}

const list: readonly Judged[] = migrations.map((each) => ({ ...each, sql: sqlOf(each) }));

/** The real list, as if the releases had been other ones. */
const released = (more: Partial<Judged>): Judged[] => [
  ...list,
  { name: "9001-next", since: "0.2.0", oldest: "0.1.0", sql: "", ...more },
];

describe("the list of migrations", () => {
  it("says of each beside which versions it works, and that can be", () => {
    expect(listFaults(list, version)).toEqual([]);
    for (const { sql } of list) expect(sql.length).toBeGreaterThan(20);
  });

  it("takes additions of a later release", () => {
    const sql = `alter table users add column nickname text;
      alter table departments add column floor integer not null default 0, add column note text;
      create table beds (id integer primary key, tenant_id integer not null);
      alter table beds enable row level security; create unique index beds_one on beds (tenant_id, id);
      create policy one_tenant on beds to records_app using (tenant_id = app_tenant());
      create index users_by_nickname on users (nickname);
      create function nicknames() returns trigger language plpgsql as $$ begin delete from beds; drop table x; end $$;
      do $$ begin execute format('create index %I on users (id)', 'x'); end $$`;
    expect(listFaults(released({ sql }), "0.2.0")).toEqual([]);
  });

  it.each([
    ["alter table users drop column full_name", "drops a column"],
    ["ALTER TABLE patients\n  ADD COLUMN a text,\n  DROP COLUMN IF EXISTS b", "drops a column"],
    ["drop table preferences", "drops something"],
    ["drop function if exists search_user_ids(text, text)", "drops something"],
    ["drop index patients_record_number", "drops something"],
    ["alter table mail_tokens drop constraint mail_tokens_pkey", "drops a constraint"],
    ["alter table users rename column role to duty", "renames"],
    ["alter table users rename to people", "renames"],
    ["alter table users alter column id type bigint", "changes a type"],
    ["alter table users alter phone set data type text", "changes a type"],
    ["alter table users alter column department_id set not null", "takes no nulls any more"],
    ["alter table users alter column is_active drop default", "has no default any more"],
    ["alter table users add column duty text not null", "adds a column that must be given"],
    ["alter table users add constraint short check (length(email) < 50) not valid", "adds a condition"],
    ["alter table users add unique (email)", "adds a condition"],
    ["create unique index users_phone on users (phone)", "adds a unique index"],
    ["create trigger look before insert on users for each row execute function look()", "adds a trigger"],
    ["alter table rate_limits enable row level security", "shuts a table"],
    ["create policy p on users as restrictive to records_app using (true)", "adds a restrictive policy"],
    ["alter policy one_tenant on users using (false)", "changes a policy"],
    ["revoke select on users from records_login", "takes a right away"],
    ["create or replace view live_sessions as select 1", "replaces a function or a view"],
    ["delete from preferences", "deletes rows"],
    [
      "do $$ declare n text; begin foreach n in array array['users'] loop execute format('drop trigger x on %I', n); execute format('alter table %I drop column x', n); end loop; end $$",
      "drops a column",
    ],
  ])("finds what could break an earlier version: %s", (sql, what) => {
    expect(narrowed(sql).map((fault) => fault.split(":")[0])).toContain(what);
    const faults = listFaults(released({ sql }), "0.2.0");
    expect(faults).toEqual([expect.stringContaining(`9001-next still claims to work beside 0.1.0, but`)]);
    // In the release after the one that does without.
    expect(listFaults(released({ sql, since: "0.3.0", oldest: "0.2.0" }), "0.3.0")).toEqual([]);
    expect(listFaults(released({ sql, harmless: "Nothing ever used it." }), "0.2.0")).toEqual([]);
  });

  it.each<[Partial<Judged>, string, RegExp]>([
    [{ oldest: "0.2.0" }, "0.2.0", /works beside no release before 0\.2\.0: everything would have to stop/],
    [{ oldest: "0.0.9" }, "0.2.0", /works beside older versions than the one before it/],
    [{}, "0.1.9", /is of a later release than 0\.1\.9/],
    [{ since: "0.0.9", oldest: "0.1.0" }, "0.2.0", /is of an earlier release than the one before it/],
    [{ name: "0001-again" }, "0.2.0", /comes after a later one/],
  ])("%j is refused", (more, program, fault) => {
    expect(listFaults(released(more), program)).toEqual(
      expect.arrayContaining([expect.stringMatching(fault)]),
    );
  });

  it("what the first release's own migrations took away on their way is found too, had they been later ones", () => {
    const found = list.filter(({ sql }) => narrowed(sql).length > 0).map(({ name }) => name);
    for (const name of [
      "0007-search",
      "0009-identity",
      "0013-origins",
      "0014-limits",
      "0016-logins",
      "0024-bulk-writes",
      "0027-traces",
    ])
      expect(found).toContain(name);
    expect(found).not.toContain("0028-compatibility");
  });
});

describe("versions", () => {
  it("are compared by number", () => {
    const sorted = ["0.10.0", "1.0.0", "0.9.12", "0.9.2"].sort(compareVersions);
    expect(sorted).toEqual(["0.9.2", "0.9.12", "0.10.0", "1.0.0"]);
    expect(compareVersions("1.2.3", "1.2.3-rc.1")).toBe(0);
    expect(laterOf("0.9.0", "0.10.0")).toBe("0.10.0");
    expect(() => compareVersions("1.2", "1.2.0")).toThrow("not a version: 1.2");
  });
});
