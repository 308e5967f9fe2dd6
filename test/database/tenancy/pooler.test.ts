// Connections that a pooler lends for one transaction (PgBouncer): tenants stay apart on them, nothing that was left on one
// counts, and a pooler that dies costs a moment.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import pg from "pg";
import { openClient } from "../../../services/shared/database/open-client.ts";
import { type Clinic, openClinic, makePatient } from "../../api/backups/scene.ts";
import { describeWithPgBouncer } from "../../support/describe-with-pgbouncer.ts";
import { type PgBouncer, startPooled } from "../../support/pgbouncer.ts";
import { eventually, startService, type TestService } from "../../support/service.ts";

const lentMax = 5;

let service: TestService;
let pgBouncer: PgBouncer;
let appUrl: string;
const clinics: Clinic[] = [];

const namesSeenBy = async ({ token }: Clinic): Promise<string[]> => {
  const { status, body } = await service.call("GET", "/api/patients", { token });
  if (status !== 200) throw new Error(`the list answered ${status}`);
  return body.items.map(({ full_name }: { full_name: string }) => full_name);
};

/** Sixty readings and ten changes at a time, of two tenants in turn. */
async function workOfBoth(): Promise<void> {
  const readers = Array.from({ length: 30 }, () => clinics).flat();
  const seen = readers.map(namesSeenBy);
  const changed = Array.from({ length: 10 }, (_, at) =>
    service.call("PUT", "/api/preferences/theme", {
      token: clinics[at % 2]?.token ?? "",
      body: { theme: at % 4 < 2 ? "dark" : "light" },
    }),
  );
  for (const [at, names] of (await Promise.all(seen)).entries())
    expect(names).toEqual([at % 2 === 0 ? "Ada of One" : "Bert of Two"]);
  expect(new Set((await Promise.all(changed)).map(({ status }) => status))).toEqual(new Set([200]));
}

describeWithPgBouncer("behind a pooler", () => {
  beforeAll(async () => {
    service = await startService(
      { DATABASE_POOL_MAX: "20" },
      {
        run: async (database, settings) => {
          const { running, ...pooled } = await startPooled(database, settings, lentMax);
          ({ pgBouncer, appUrl } = pooled);
          return running;
        },
      },
    );
    const superadmin = await service.signIn("superadmin");
    for (const name of ["Ada of One", "Bert of Two"]) {
      const clinic = await openClinic(service, superadmin);
      await makePatient(service, clinic.token, name);
      clinics.push(clinic);
    }
  });
  afterAll(() => service?.stop());

  it("two tenants at once each see their own, on fewer connections than the process asks for", async () => {
    await workOfBoth();
    const { rows } = await service.database.owner.query(
      "select count(*)::integer as lent from pg_stat_activity where usename = 'records_login'",
    );
    expect(rows[0].lent).toBeGreaterThan(0);
    // Beside them the connection of /readyz and the like, which PgBouncer lends too.
    expect(rows[0].lent).toBeLessThanOrEqual(lentMax);
  });

  it.each([
    ["sslrootcert=/nowhere.pem", /: ENOENT: no such file or directory, open '\/nowhere.pem'\.$/],
    ["sslmode=verify-full", /: self-signed certificate\b/],
    ["sslmode=disable", /: SSL required\.$/],
  ])("what does not fit is refused in one sentence: %s", async (parameters, reason) => {
    const url = appUrl.replace(/\?.*/, `?${parameters}`);
    await expect(openClient(url, "DATABASE_APP_URL")).rejects.toThrow(reason);
  });

  it("the server's name is looked at", async () => {
    const url = appUrl.replace("@127.0.0.1:", "@127.1:");
    await expect(openClient(url, "DATABASE_APP_URL")).rejects.toThrow(
      /does not match certificate's altnames/,
    );
  });

  it("what somebody left on a connection counts for nobody after them", async () => {
    const thieves = Array.from({ length: lentMax }, () => new pg.Client({ connectionString: appUrl }));
    for (const thief of thieves) await thief.connect();
    // All at once, so that each is lent another connection, and leaves it as it is.
    const left = "set role records_login_platform; set search_path = pg_catalog";
    await Promise.all(thieves.map((thief) => thief.query(`begin; select pg_sleep(0.2); ${left}; commit`)));
    for (const thief of thieves) await thief.end();
    await workOfBoth();
    await service.database.owner.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'records_login'",
    );
    await eventually(async () => (await service.call("GET", "/api/auth/tenants")).status === 200);
  });

  it("a pooler that dies is 503, and a moment when it is back", async () => {
    const [clinic] = clinics;
    await pgBouncer.kill();
    const answer = await service.call("GET", "/api/patients", { token: clinic?.token ?? "" });
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
    await pgBouncer.start();
    await eventually(() =>
      workOfBoth().then(
        () => true,
        () => false,
      ),
    );
  });
});
