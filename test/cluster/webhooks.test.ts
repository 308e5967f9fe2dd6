// Several processes on one database: each event is told once, whichever of them tells it; one that is killed is followed by
// another; one that is stopped lets go at once; and while PostgreSQL is away nothing is lost.
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, it } from "@jest/globals";
import {
  addressOf,
  callApi,
  eventually,
  type RunningProcess,
  runProcess,
  startService,
  type TestService,
} from "../support/service.ts";
import { makeClinic } from "../support/tenancy.ts";
import { type Receiver, startReceiver } from "../support/webhooks.ts";

let service: TestService;
let receiver: Receiver;
let token: string;
let second: { process: RunningProcess; url: string };
const settings = { WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8", WEBHOOK_RETRY_SECONDS: "0,1,1,1,1,1" };

beforeAll(async () => {
  [service, receiver] = await Promise.all([startService(settings), startReceiver()]);
  ({ token } = await makeClinic(service, await service.signIn("superadmin")));
  second = await startSecond();
});
afterAll(async () => {
  await receiver?.stop();
  await second?.process.stop();
  await service?.stop();
});
beforeEach(() => {
  receiver.answer = (_received, response) => void response.end();
});

async function startSecond(): Promise<typeof second> {
  const running = runProcess({ ...service.settings, DATA_DIR: join(service.database.folder, "second") });
  return { process: running, url: await addressOf(running) };
}

async function register(path: string): Promise<number> {
  const body = { url: `${receiver.url}/${path}`, events: ["department.created"] };
  const answer = await service.call("POST", "/api/webhooks/register", { token, body });
  expect(answer.status).toBe(201);
  return answer.body.id;
}
let departments = 0;
async function change(url = service.url): Promise<void> {
  const body = { name: `Room ${++departments}` };
  const answer = await callApi(url, "POST", "/api/admin/departments", { token, body });
  expect(answer.status).toBe(201);
}
const cameTo = (path: string) => receiver.received.filter((each) => each.path === `/${path}`);
const idsAt = (path: string) => cameTo(path).map(({ headers }) => headers["webhook-id"]);
const left = async (): Promise<number> => {
  const { rows } = await service.database.owner.query(
    "select (select count(*) from fan_out_queue) + (select count(*) from deliveries where state = 'pending') as left",
  );
  return Number(rows[0].left);
};
/** Which backend holds a target at the moment. */
const holderOf = async (id: number): Promise<string | null> =>
  (await service.database.owner.query("select leased_by from delivery_targets where id = $1", [id])).rows[0]
    .leased_by;

it("two processes tell each webhook of each event once", async () => {
  const paths = ["one", "two", "three"];
  for (const path of paths) await register(path);
  const changes = Array.from({ length: 60 }, (_, n) => change(n % 2 === 0 ? service.url : second.url));
  await Promise.all(changes);
  await eventually(async () => paths.every((path) => cameTo(path).length >= 60));
  await eventually(async () => (await left()) === 0);
  for (const path of paths) {
    expect(cameTo(path)).toHaveLength(60);
    expect(new Set(idsAt(path)).size).toBe(60);
  }
  for (const { id } of (await service.call("GET", "/api/webhooks", { token })).body)
    await service.call("DELETE", `/api/webhooks/${id}`, { token });
});

it("one that is stopped with tries in flight lets go, and the other goes on at once", async () => {
  const id = await register("stopped");
  receiver.answer = (_received, response) => void setTimeout(() => response.end(), 300);
  for (let n = 0; n < 30; n++) await change();
  await eventually(async () => cameTo("stopped").length > 0);
  await second.process.stop();
  await eventually(async () => (await left()) === 0);
  // What was in flight was ended in order, so nothing came twice.
  expect(cameTo("stopped")).toHaveLength(30);
  expect(new Set(idsAt("stopped")).size).toBe(30);
  await service.call("DELETE", `/api/webhooks/${id}`, { token });
  second = await startSecond();
});

it("one that is killed is followed by another within a minute, under the same ids", async () => {
  const id = await register("killed");
  receiver.answer = () => {};
  await change();
  await eventually(async () => cameTo("killed").length === 1 && (await holderOf(id)) !== null);
  const holder = await holderOf(id);
  // Whichever of them holds it.
  await second.process.stop("SIGKILL");
  await service.process.stop("SIGKILL");
  second = await startSecond();
  receiver.answer = (_received, response) => void response.end();
  await eventually(async () => (await left()) === 0);
  expect(await holderOf(id)).not.toBe(holder);
  expect(new Set(idsAt("killed")).size).toBe(1);
  expect(cameTo("killed").length).toBe(2);
});

it("while PostgreSQL is away deliveries wait, and go on when it is back", async () => {
  const address = second.url;
  const answer = await callApi(address, "POST", "/api/webhooks/register", {
    token,
    body: { url: `${receiver.url}/away`, events: ["department.created"] },
  });
  expect(answer.status).toBe(201);
  receiver.answer = (_received, response) => void setTimeout(() => response.end(), 500);
  for (let n = 0; n < 15; n++) await change(address);
  await eventually(async () => cameTo("away").length > 0);
  const { owner, postgres, url } = service.database;
  const name = pg.escapeIdentifier(new URL(url).pathname.slice(1));
  const beside = new pg.Client({ connectionString: postgres.url("postgres") });
  await beside.connect();
  await beside.query(`alter database ${name} allow_connections false`);
  await beside.query("select pg_terminate_backend(pid) from pg_stat_activity where usename like '%login'");
  await second.process.printed(/deliveries wait|results of deliveries wait/);
  await beside.query(`alter database ${name} allow_connections true`);
  await beside.end();
  await eventually(async () => (await left()) === 0);
  expect(new Set(idsAt("away")).size).toBe(15);
  const { rows } = await owner.query(
    "select state, count(*)::integer as count from deliveries where target_id = $1 group by state",
    [answer.body.id],
  );
  expect(rows).toEqual([{ state: "succeeded", count: 15 }]);
});
