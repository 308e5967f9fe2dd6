// The clock of the service's process is set, while the database's is right: a person is told, nothing healthy is touched, nothing
// is deleted before its time, and people go on working.
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { eventually } from "../../support/service.ts";
import { makeClinic, makeUser } from "../../support/tenancy.ts";
import { openScene, provoking, type Scene } from "./scene.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const clockFile = join(tmpdir(), `records-test-clock-${process.pid}-${randomUUID()}`);

let scene: Scene;
beforeAll(async () => {
  await writeFile(clockFile, "0");
  const patch = pathToFileURL(join(import.meta.dirname, "../../support/set-clock.mjs"));
  scene = await openScene({ NODE_OPTIONS: `--import=${patch}`, TEST_CLOCK_FILE: clockFile });
  await provoking(scene);
});
afterAll(async () => {
  await scene?.stop();
  await rm(clockFile, { force: true });
});

const signIn = () => scene.service.signIn("superadmin");

/** The scene's own token may be expired, or not be valid yet, by the clock that is set. */
async function incidentsNow(token: string) {
  const path = "/api/admin/self-healing";
  const { status } = await scene.service.call("POST", `${path}/look`, { token });
  expect(status).toBe(200);
  const { body } = await scene.service.call("GET", `${path}/incidents?limit=200`, { token });
  return body.items as { code: string; status: string; evidence: { ahead_ms: number } }[];
}

/** Sets the clock, and waits until the service shows that it goes by it. @returns a token of that time */
async function setClock(aheadMs: number): Promise<string> {
  await writeFile(clockFile, String(aheadMs));
  return eventually(async () => {
    const token = await signIn();
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    const { iat } = claims as { iat: number };
    return Math.abs(iat * 1000 - aheadMs - Date.now()) < 30_000 && token;
  });
}

const run = async (task: string) => {
  const [job] = await scene.sql<{ id: string }>("select id from graphile_worker.add_job($1)", [task]);
  await eventually(async () => {
    const left = await scene.sql("select from graphile_worker._private_jobs where id = $1", [job?.id]);
    return left.length === 0;
  });
};

it.each([
  ["ahead by three hours", 3 * hourMs],
  ["behind by three hours", -3 * hourMs],
])("%s: told with how far, what is being written stays, and nothing is mended", async (_name, aheadMs) => {
  const store = join(scene.service.settings["DATA_DIR"] ?? "", "backups");
  const id = `bk_${randomUUID().replaceAll("-", "")}`;
  await mkdir(join(store, "backups", id), { recursive: true });
  await mkdir(join(store, ".unfinished"), { recursive: true });
  const written = [join(store, "backups", id, "data"), join(store, ".unfinished", id)];
  for (const path of written) await writeFile(path, "half");

  const token = await setClock(aheadMs);
  const met = await eventually(async () => {
    const open = (await incidentsNow(token)).filter(({ status }) => status === "open");
    return open.length > 0 && open;
  });
  expect(met.map(({ code }) => code)).toEqual(met.map(() => "clocks_apart"));
  for (const { evidence } of met) expect(Math.abs(evidence.ahead_ms - aheadMs)).toBeLessThan(30_000);
  await run("backups.sweep");
  expect(await readdir(join(store, "backups", id))).toEqual(["data"]);
  expect(await readdir(join(store, ".unfinished"))).toContain(id);

  const back = await setClock(0);
  await eventually(async () => (await incidentsNow(back)).every(({ status }) => status === "ended"));
});

it("a tenant and a user that are deleted while it is far behind are kept as long as all others", async () => {
  const token = await setClock(0);
  const clinic = await makeClinic(scene.service, token);
  const kept = await makeClinic(scene.service, token);
  const user = await makeUser(scene.service, kept.token);
  const behind = await setClock(-400 * dayMs);
  for (const path of [`tenants/${clinic.id}`, `users/${user.id}?tenant_id=${kept.id}`]) {
    const { status, body } = await scene.service.call("DELETE", `/api/admin/${path}`, { token: behind });
    expect([status, body]).toEqual([204, ""]);
  }
  await setClock(0);
  for (const task of ["tenants.purge", "users.purge"]) await run(task);
  expect(await scene.sql("select from tenants where id = $1", [clinic.id])).toHaveLength(1);
  expect(await scene.sql("select from users where id = $1", [user.id])).toHaveLength(1);
});

it("deliveries' log stays, though the clock is a year ahead when it is swept", async () => {
  const token = await setClock(0);
  const clinic = await makeClinic(scene.service, token);
  const body = { url: "https://hooks.example.com/x", events: ["*"] };
  const hook = await scene.service.call("POST", "/api/webhooks/register", { token: clinic.token, body });
  expect(hook.status).toBe(201);
  await makeUser(scene.service, clinic.token);
  const deliveries = () => scene.sql("select from deliveries where tenant_id = $1", [clinic.id]);
  const before = await eventually(async () => {
    const made = await deliveries();
    return made.length > 0 && made.length;
  });
  await setClock(365 * dayMs);
  await run("webhooks.sweep");
  await setClock(0);
  expect((await deliveries()).length).toBeGreaterThanOrEqual(before);
});
