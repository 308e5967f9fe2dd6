// Faults that come from outside of the rows: of the messenger, of payment providers, of certificates, of the store, of the
// database's connections and its wall, and of the cache; each provoked on the running service.
import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createServer, type Server } from "node:tls";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { endsSoon } from "../../../mixins/healing/certificate-faults.ts";
import { makePatient, openClinic } from "../backups/scene.ts";
import { certificate, certificateKey } from "../../unit/mixins/store/certificates.ts";
import { type BotApi, failure, startBotApi } from "../../support/bot-api.ts";
import { eventually } from "../../support/service.ts";
import { expired, expiredKey } from "./expired.ts";
import { provokedIn } from "./provoked-in.ts";
import { openScene, type Provoking, provoking, type Scene } from "./scene.ts";

let api: BotApi;
let front: Server;
let scene: Scene;
let clinic: Awaited<ReturnType<typeof openClinic>>;
let provoked: Set<string>;
let seen: Provoking["seen"];
let repairTimes: Provoking["repairTimes"];
let address = "";

beforeAll(async () => {
  api = await startBotApi();
  api.trouble = () => failure(401, "Unauthorized");
  // What stands before the service and ends TLS, as far as its certificate goes.
  front = createServer({ cert: certificate, key: certificateKey }, (socket) => socket.end());
  front.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  const bound = front.address();
  address = `127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`;
  scene = await openScene({
    ...api.settings,
    TELEGRAM_WEBHOOK: "true",
    PUBLIC_URL: `https://${address}`,
  });
  ({ provoked, seen, repairTimes } = await provoking(scene));
  clinic = await openClinic(scene.service, scene.token);
});
afterAll(async () => {
  await scene?.stop();
  await api?.stop();
  await new Promise((resolve) => front?.close(resolve));
});

const sql = (text: string, values?: unknown[]) => scene.sql<Record<string, any>>(text, values);

describe("the messenger", () => {
  it("that refuses the token for long is told, and its end is noticed", async () => {
    await eventually(
      async () => (await sql("select from messenger_bots where down_since is not null")).length > 0,
    );
    expect(await scene.look()).toMatchObject({ found: 0, silent: [] });
    await sql("update messenger_bots set down_since = now() - interval '11 minutes'");
    const incident = await seen("messenger_silent", "messenger");
    expect(incident.evidence).toMatchObject({ a_process_tries: true });
    api.trouble = () => undefined;
    await eventually(async () => api.webhook !== undefined);
    await scene.met("messenger_silent", "messenger", "ended");
  });

  it.each<[string, Record<string, unknown> | undefined, string]>([
    ["nowhere", undefined, "nowhere"],
    ["elsewhere", { url: "https://elsewhere.example/", allowed_updates: ["message"] }, "elsewhere"],
  ])("whose endpoint is registered %s is told again where to post", async (_case, webhook, registered) => {
    const right = { url: `https://${address}/webhooks/telegram`, secret_token: expect.any(String) };
    await eventually(async () => api.webhook?.["url"] === right.url);
    // Of the case before: what comes back within the hour waits for a person.
    await sql(
      "update incidents set (detected_at, ended_at) = (detected_at - interval '2 hours', ended_at - interval '2 hours') where status = 'healed'",
    );
    api.webhook = webhook;
    expect(await scene.look()).toMatchObject({ found: 1, opened: 1 });
    const incident = await seen("messenger_registration_lost", "endpoint");
    expect(incident.evidence).toMatchObject({ registered });
    expect(JSON.stringify(incident)).not.toContain("elsewhere.example");
    expect(api.webhook).toMatchObject(right);
  });

  it("is left alone while it does not say where it posts", async () => {
    const before = api.asked.filter(({ method }) => method === "setWebhook").length;
    api.trouble = (method) => (method === "getWebhookInfo" ? failure(502, "Bad Gateway") : undefined);
    expect(await scene.look()).toMatchObject({ found: 0, silent: ["messenger"] });
    api.trouble = () => undefined;
    expect(await scene.look()).toMatchObject({ found: 0, silent: [] });
    expect(api.asked.filter(({ method }) => method === "setWebhook")).toHaveLength(before);
  });
});

it("notifications that nobody can verify any more are told, a stranger's are not", async () => {
  const unverified = (provider: string, from: number) =>
    sql(
      `insert into payment_notifications (provider, notification_id, type, body_hash, state, received_at)
       select $1, 'x' || n, 'none', sha256('x'), 'unverified', now() from generate_series($2::integer, $2 + 4) n`,
      [provider, from],
    );
  const verified = (provider: string, id: string, age: string) =>
    sql(
      `insert into payment_notifications (provider, notification_id, type, body_hash, state, received_at)
       values ($1, $2, 'none', sha256('x'), 'ignored', now() - $3::interval)`,
      [provider, id, age],
    );
  // Of this provider nothing was ever verified: there is no secret to be wrong.
  await unverified("wallet", 1);
  await unverified("card", 1);
  expect(await scene.look()).toMatchObject({ found: 0 });
  await verified("card", "right", "2 days");
  const incident = await seen("payments_unverified", "provider:card");
  expect(incident.evidence).toMatchObject({ unverified: 5 });
  await verified("card", "right again", "0");
  await scene.met("payments_unverified", "provider:card", "ended");
});

it("jobs that fail again and again are told", async () => {
  await sql(
    `select graphile_worker.add_job('mail.password_changed', json_build_object('user_id', 0), run_at := now() + interval '1 hour', job_key := 'failing')`,
  );
  await sql(
    "update graphile_worker._private_jobs set attempts = 6, last_error = 'mail.password_changed failed' where key = 'failing'",
  );
  const incident = await seen("jobs_failing", "task:mail.password_changed");
  expect(incident.evidence).toMatchObject({ jobs: 1, tries: 6 });
  await sql("select graphile_worker.remove_job('failing')");
  await scene.met("jobs_failing", "task:mail.password_changed", "ended");
});

it("a value of the cache that disagrees with the database is dropped, an outdated one is left", async () => {
  const { id, record_number: number } = await makePatient(scene.service, clinic.token, "Remembered");
  const read = async () =>
    (await scene.service.call("GET", `/api/patients/${id}`, { token: clinic.token })).body.record_number;
  const records = () => scene.service.call("GET", `/api/patients/${id}/records`, { token: clinic.token });
  const change = (text: string) => sql(`update patients set record_number = $2 where id = $1`, [id, text]);
  await eventually(async () => {
    await read();
    await records();
    const { body } = await scene.service.call("GET", "/api/admin/cache/stats", { token: clinic.token });
    return body.entries === 2;
  });
  // The trigger gives it another stamp: what is remembered is outdated, and nobody is told it.
  await change("NEW-1");
  expect(await scene.look()).toMatchObject({ found: 0 });
  expect(await read()).toBe("NEW-1");
  await eventually(async () => {
    const { body } = await scene.service.call("GET", "/api/admin/cache/stats", { token: clinic.token });
    return body.entries === 2;
  });
  await sql("alter table patients disable trigger user");
  await change("NEW-2");
  await sql("alter table patients enable trigger user");
  expect(await read()).toBe("NEW-1");
  const incident = await seen("cache_differs", `patient:${id}`);
  expect(incident).toMatchObject({ tenant_id: clinic.id, evidence: { part: "patient" } });
  expect(JSON.stringify(incident)).not.toContain(number);
  expect(await read()).toBe("NEW-2");
});

it("uploads that nobody goes on with are ended", async () => {
  const folder = join(scene.service.settings["DATA_DIR"] ?? "", "backups", ".unfinished");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "left"), "half");
  await writeFile(join(folder, "under-way"), "half");
  const long = new Date(Date.now() - 3 * 3_600_000);
  await utimes(join(folder, "left"), long, long);
  const incident = await seen("upload_leftovers", "uploads");
  expect(incident.evidence).toMatchObject({ uploads: 1 });
  expect(await readdir(folder)).toEqual(["under-way"]);
});

it("connections that run out are told", async () => {
  const [{ limit } = { limit: 0 }] = await sql("select current_setting('max_connections')::integer as limit");
  const open: pg.Client[] = [];
  try {
    for (;;) {
      const [{ used } = { used: limit }] = await sql(
        "select sum(numbackends)::integer as used from pg_stat_database",
      );
      if (used >= limit * 0.87) break;
      const client = new pg.Client({ connectionString: scene.service.database.url });
      await client.connect();
      open.push(client);
    }
    await seen("connections_run_out", "connections:server");
  } finally {
    await Promise.all(open.map((client) => client.end()));
  }
  await scene.met("connections_run_out", "connections:server", "ended");
});

it("a wall between tenants that was taken down is told", async () => {
  await sql("alter table patients no force row level security");
  const incident = await seen("tenancy_wall_down", "wall:unforced");
  expect(incident.evidence).toEqual({ names: "patients" });
  await sql("alter table patients force row level security");
  await scene.met("tenancy_wall_down", "wall:unforced", "ended");
});

describe("certificates", () => {
  const day = 86_400_000;
  const now = Date.parse("2026-06-01T00:00:00Z");
  it.each([
    ["of a year, a month left", 365, 30, false],
    ["of a year, a week left", 365, 7, true],
    ["of three months, 15 days left", 90, 15, false],
    ["of three months, 13 days left", 90, 13, true],
    ["of six days, two left", 6, 2, false],
    ["of six days, one left", 6, 1, true],
    ["that has ended", 365, -1, true],
  ])("%s: %s", (_case, days, left, soon) => {
    const until = new Date(now + left * day);
    expect(endsSoon({ from: new Date(until.getTime() - days * day), until }, now)).toBe(soon);
  });

  it("one that has ended is told, and its renewal is noticed", async () => {
    front.setSecureContext({ cert: expired, key: expiredKey });
    const incident = await seen("certificate_ends", `certificate:${address}`);
    expect(incident.evidence).toMatchObject({ ends_at: "2024-01-01T00:00:00.000Z" });
    front.setSecureContext({ cert: certificate, key: certificateKey });
    await scene.met("certificate_ends", `certificate:${address}`, "ended");
  });
});

it("every fault that is to be provoked here was, and nothing else was touched", async () => {
  // Shown unless the tests are silent.
  console.log(repairTimes());
  expect([...provoked].sort()).toEqual(provokedIn("outside"));
  const fixes = await scene.fixes();
  expect(fixes.filter(({ status }) => status === "suspended")).toEqual([]);
  expect(fixes.filter((fix) => fix["failed"] !== 0)).toEqual([]);
  expect(await scene.look()).toMatchObject({ found: 0, opened: 0, silent: [] });
});
