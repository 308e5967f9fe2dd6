// A process does not serve when the wall beneath it is not standing.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { connect } from "../../../host/database/connect.ts";
import { assertTenantIsolation } from "../../../services/shared/database/guard.ts";
import { runProcess, testSettings } from "../../support/service.ts";
import { fillTenant, openScene, type Scene, tenantTables } from "./scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene(2);
  await fillTenant(scene.owner, "ours");
});
afterAll(() => scene.stop());

const standing = () => assertTenantIsolation(scene.connected.database);

async function standingAs(url: string): Promise<void> {
  const connected = await connect({ url, poolMax: 1, entities: [], statementTimeoutMs: 5_000 });
  try {
    await assertTenantIsolation(connected.database);
  } finally {
    await connected.close();
  }
}

function urlAs(user: string, password: string): string {
  const url = new URL(scene.database.url.replace("@/", "@socket/"));
  url.username = user;
  url.password = password;
  return url.href.replace("@socket/", "@/");
}

it("the wall stands as it was provisioned", async () => {
  await expect(standing()).resolves.toBeUndefined();
});

describe("logins that are refused", () => {
  const logins: [what: string, grant: string, sentence: RegExp][] = [
    ["a superuser", "alter role stranger superuser", /may bypass row-level security/],
    [
      "one that bypasses row-level security",
      "alter role stranger bypassrls",
      /may bypass row-level security/,
    ],
    ["one that may become a superuser", "grant postgres to stranger", /may bypass row-level security/],
    ["the owner of a table", "alter table events owner to stranger", /owns tables/],
    [
      "one that may become a table's owner",
      "alter table events owner to records_stranger; grant records_stranger to stranger",
      /owns tables/,
    ],
    [
      "one that sees all tenants at once",
      "grant records_platform to stranger with inherit true",
      /not as it was on [^.]*audit_entries/,
    ],
  ];
  it.each(logins)("%s", async (_what, grant, sentence) => {
    const { owner } = scene;
    await owner.query("create role stranger login password 'a-strangers-password' in role records_app");
    await owner.query("create role records_stranger");
    try {
      await owner.query("grant records_platform to stranger with inherit false, set true");
      await owner.query(grant);
      await expect(standingAs(urlAs("stranger", "a-strangers-password"))).rejects.toThrow(sentence);
    } finally {
      await owner.query(
        "alter table events owner to postgres; drop owned by stranger; drop role stranger; drop role records_stranger",
      );
    }
  });
});

describe("tables that are refused", () => {
  const policy = "using (tenant_id = app_tenant())";
  const breaks: [what: string, breaking: string, mending: string, sentence: RegExp][] = [
    [
      "one with an extra policy for everyone",
      "create policy extra on users using (true)",
      "drop policy extra on users",
      /not as it was on users/,
    ],
    [
      "one with an extra policy for reading",
      "create policy extra on preferences for select to records_app using (theme = 'dark')",
      "drop policy extra on preferences",
      /not as it was on preferences/,
    ],
    [
      "one whose policy shows everything",
      "alter policy one_tenant on departments using (true)",
      `alter policy one_tenant on departments ${policy}`,
      /not as it was on departments/,
    ],
    [
      "one whose policy lets foreign rows in",
      "alter policy one_tenant on departments with check (true)",
      `drop policy one_tenant on departments; create policy one_tenant on departments to records_app ${policy}`,
      /not as it was on departments/,
    ],
    [
      "a new one without a policy",
      "create table notes (tenant_id integer); alter table notes enable row level security, force row level security",
      "drop table notes",
      /not as it was on notes/,
    ],
    [
      "a new one without the wall",
      "create table notes (tenant_id integer)",
      "drop table notes",
      /not forced on notes/,
    ],
    [
      "a view that reads with its owner's rights",
      "create view all_users as select * from users",
      "drop view all_users",
      /does not reach through all_users/,
    ],
    [
      "a copy of everything",
      "create materialized view all_users as select * from users",
      "drop materialized view all_users",
      /does not reach through all_users/,
    ],
    [
      "a function that may more than its caller, and takes the caller's temporary tables for ours",
      "create function all_users() returns setof users language sql security definer set search_path = public as 'select * from users'",
      "drop function all_users()",
      /taken for ours by all_users/,
    ],
  ];
  it.each(breaks)("%s", async (_what, breaking, mending, sentence) => {
    await scene.owner.query(breaking);
    try {
      await expect(standing()).rejects.toThrow(sentence);
    } finally {
      await scene.owner.query(mending);
    }
    await expect(standing()).resolves.toBeUndefined();
  });

  it("each one whose FORCE, row-level security or policy was dropped", async () => {
    for (const { name, column } of await tenantTables(scene.owner)) {
      await scene.owner.query(`alter table ${name} no force row level security`);
      await expect(standing()).rejects.toThrow(`Row-level security is not forced on ${name}.`);
      await scene.owner.query(`alter table ${name} force row level security, disable row level security`);
      await expect(standing()).rejects.toThrow(`Row-level security is not forced on ${name}.`);
      await scene.owner.query(
        `alter table ${name} enable row level security; drop policy one_tenant on ${name}`,
      );
      await expect(standing()).rejects.toThrow(`is not as it was on ${name}.`);
      await scene.owner.query(
        `create policy one_tenant on ${name} to records_app using (${column} = app_tenant())`,
      );
    }
    await expect(standing()).resolves.toBeUndefined();
  });
});

describe("the whole process", () => {
  it.each([
    ["a superuser as its login", () => scene.database.url, "select 1", "select 1", /may bypass/],
    [
      "a table without FORCE",
      () => scene.appUrl,
      "alter table sessions no force row level security",
      "alter table sessions force row level security",
      /not forced on sessions/,
    ],
  ])("ends with one sentence on %s", async (_what, appUrl, breaking, mending, sentence) => {
    const owner = new pg.Client({ connectionString: scene.database.url });
    await owner.connect();
    await owner.query(breaking);
    const settings = {
      ...testSettings(scene.database),
      DATABASE_APP_URL: appUrl(),
    };
    const running = runProcess(settings);
    try {
      expect(await running.exited).toBe(1);
      const lines = running
        .output()
        .split("\n")
        .filter((line) => line !== "");
      expect(lines).toEqual([expect.stringMatching(sentence)]);
    } finally {
      await running.stop("SIGKILL");
      await owner.query(mending);
      await owner.end();
    }
  });
});
