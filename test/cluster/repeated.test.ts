// A stranger who has the bus's login but no key of ours, and sends again what was overheard: to the same node, to
// another one, and to one that was started anew under the same name. Each message counts once, where it was sent.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { headers } from "nats";
import { type Cluster, type Gateway, signInAt, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { Eavesdropper, type Heard } from "../support/eavesdropper.ts";
import { freePort } from "../support/nats.ts";
import { type CallOptions, demoPassword, eventually, type RunningProcess } from "../support/service.ts";

const nodes = ["services-1", "services-2"] as const;
type Node = (typeof nodes)[number];

let cluster: Cluster;
let gateway: Gateway;
let stranger: Eavesdropper;
let admin = "";
const metrics = new Map<string, number>();
const running = new Map<string, RunningProcess>();

async function startNode(name: Node): Promise<void> {
  const port = await freePort();
  metrics.set(name, port);
  const settings = { NODE_ID: name, METRICS_PORT: String(port) };
  running.set(name, await cluster.startServices(settings));
}

/** How many messages the two nodes have dropped, for one reason. */
async function dropped(reason: string, names: readonly Node[] = nodes): Promise<number> {
  const counts = names.map(async (name) => {
    const text = await (await fetch(`http://127.0.0.1:${metrics.get(name)}/metrics`)).text();
    const found = new RegExp(`^records_bus_dropped_total\\{reason="${reason}"\\} (\\d+)$`, "m").exec(text);
    if (found === null) throw new Error(`${name} does not say what it dropped as ${reason}`);
    return Number(found[1]);
  });
  return (await Promise.all(counts)).reduce((sum, each) => sum + each, 0);
}

async function call(method: string, path: string, body?: unknown, token = admin) {
  const options: CallOptions = body === undefined ? { token } : { token, body };
  const answer = await gateway.call(method, path, options);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.detail}`);
  return answer.body;
}

const elsewhere = (subject: string) =>
  subject.replace(/services-([12])$/, (_whole, number) => `services-${3 - Number(number)}`);

/** Sends requests again, 20 times to their node and once to the other one; resolves when all of them were looked at. */
async function repeatRequests(requests: readonly Heard[]): Promise<void> {
  const toServices = requests.filter(({ subject }) => /services-[12]$/.test(subject));
  expect(toServices.length).toBeGreaterThan(0);
  const before = { repeated: await dropped("repeated"), foreign: await dropped("foreign") };
  await stranger.repeat(toServices, 20);
  await stranger.repeat(toServices, 1, elsewhere);
  const expected = { repeated: toServices.length * 20, foreign: toServices.length };
  await eventually(async () => (await dropped("repeated")) - before.repeated >= expected.repeated);
  await eventually(async () => (await dropped("foreign")) - before.foreign >= expected.foreign);
}

async function sql(text: string, values: unknown[]) {
  return (await cluster.database.owner.query(text, values)).rows;
}

describeWithNats("what was overheard and is sent again", () => {
  beforeAll(async () => {
    cluster = await startCluster();
    await startNode("services-1");
    await startNode("services-2");
    gateway = await cluster.startGateway({ NODE_ID: "gateway-1" });
    stranger = await Eavesdropper.at(cluster.nats);
    admin = await signInAt(gateway, "admin");
  });
  afterAll(async () => {
    await stranger?.close();
    await cluster?.stop();
  });

  it("one record stays one, and is not made by another node either", async () => {
    const patient = await call("POST", "/api/patients", { record_number: "R-1", full_name: "Some Body" });
    const requests = await stranger.during("REQ", () =>
      call("POST", `/api/patients/${patient.id}/records`, { kind: "note", body: "Once." }),
    );
    await repeatRequests(requests);
    expect((await call("GET", `/api/patients/${patient.id}/records`)).total).toBe(1);
  });

  it("records that were asked for at once, and travelled together, stay as many as they are", async () => {
    const patient = await call("POST", "/api/patients", { record_number: "R-3", full_name: "Some Body" });
    const path = `/api/patients/${patient.id}/records`;
    const numbers = Array.from({ length: 12 }, (_, number) => number);
    const requests = await stranger.during("REQ", () =>
      Promise.all(numbers.map((number) => call("POST", path, { kind: "note", body: `Note ${number}.` }))),
    );
    await repeatRequests(requests);
    expect((await call("GET", path)).total).toBe(numbers.length);
  });

  it("an unblock does not undo a later block, and a role that was taken away does not come back", async () => {
    const email = "repeated@people.example";
    const person = { email, password: demoPassword, full_name: "Rita Repeated", role: "nurse" };
    const { id } = await call("POST", "/api/admin/users", person);
    await call("POST", `/api/admin/users/${id}/block`);
    const unblock = await stranger.during("REQ", () => call("POST", `/api/admin/users/${id}/unblock`));
    const raise = await stranger.during("REQ", () =>
      call("PUT", `/api/admin/users/${id}/role`, { role: "head_doctor" }),
    );
    await call("PUT", `/api/admin/users/${id}/role`, { role: "nurse" });
    await call("POST", `/api/admin/users/${id}/block`);
    await repeatRequests([...unblock, ...raise]);
    const rows = await sql("select role, is_active from users where id = $1", [id]);
    expect(rows).toEqual([{ role: "nurse", is_active: false }]);
  });

  it("a call does not run after its caller has signed out", async () => {
    const token = await signInAt(gateway, "nurse");
    const theme = (name: string) => call("PUT", "/api/preferences/theme", { theme: name }, token);
    const requests = await stranger.during("REQ", () => theme("dark"));
    await theme("light");
    await call("POST", "/api/auth/logout", undefined, token);
    await repeatRequests(requests);
    const again = await signInAt(gateway, "nurse");
    expect(await call("GET", "/api/preferences", undefined, again)).toMatchObject({ theme: "light" });
  });

  it("answers and events that are repeated, to whom they were meant or to another, disturb nobody", async () => {
    await stranger.during("RES", () => call("GET", "/api/users/me"));
    const others = [...stranger.heard("RES"), ...stranger.heard("EVENT"), ...stranger.heard("HEARTBEAT")];
    expect(others.length).toBeGreaterThan(0);
    await stranger.repeat(others, 20);
    await stranger.repeat(others, 20, (subject) => subject.replace("gateway-1", "services-1"));
    await stranger.repeat(others, 20, () => "MOL-records.REQ.services-1");
    for (let tries = 0; tries < 20; tries++)
      expect(await call("GET", "/api/users/me")).toMatchObject({ role: "admin" });
  });

  it("NATS's word that nobody listens for a node, made up, has nothing done twice and no node left out", async () => {
    const patient = await call("POST", "/api/patients", { record_number: "R-2", full_name: "Some Body" });
    const noResponders = { headers: headers(503, "No Responders") };
    const lie = () => {
      for (const name of nodes)
        stranger.bus.publish(`MOL-records.UNHEARD.gateway-1.${name}`, new Uint8Array(), noResponders);
    };
    const lying = setInterval(lie, 20);
    const path = `/api/patients/${patient.id}/records`;
    const kept: string[] = [];
    try {
      for (let number = 0; number < 40; number++) {
        const body = { kind: "note", body: `Note ${number}.` };
        const answer = await gateway.call("POST", path, { token: admin, body });
        // Whoever has the bus's login can keep nodes from each other, so a refusal is no surprise.
        expect([201, 503]).toContain(answer.status);
        if (answer.status === 201) kept.push(body.body);
      }
    } finally {
      clearInterval(lying);
    }
    await gateway.process.printed(/Nobody listens for the node services-1/);
    const notes = await eventually(async () => {
      const answer = await gateway.call("GET", `${path}?limit=100`, { token: admin });
      return answer.status === 200 && answer.body.items.map((item: { body: string }) => item.body);
    });
    expect(kept.length).toBeGreaterThan(0);
    expect(notes.toSorted()).toEqual(kept.toSorted());
    expect(gateway.process.output()).not.toMatch(/services-[12]' disconnected unexpectedly/);
  });

  it("what concerned a node's earlier start does not concern it after it was started anew", async () => {
    const earlier = await stranger.during("REQ.services-1", async () => {
      for (const theme of ["dark", "light", "dark", "light"])
        await call("PUT", "/api/preferences/theme", { theme });
      await running.get("services-1")?.stop();
    });
    const disconnects = stranger.heard("DISCONNECT");
    const infos = stranger.heard("INFO");
    expect(disconnects).toHaveLength(1);
    await startNode("services-1");
    await running.get("services-2")?.stop();
    // A gateway that has just started has heard none of it before.
    const fresh = await cluster.startGateway({ NODE_ID: "gateway-2" });
    await call("PUT", "/api/preferences/theme", { theme: "system" });
    for (let time = 0; time < 20; time++) {
      await stranger.repeat([...infos, ...earlier, ...disconnects]);
      for (const each of [gateway, fresh]) {
        const answer = await each.call("GET", "/api/users/me", { token: admin });
        expect({ status: answer.status, ...answer.body }).toMatchObject({ status: 200, role: "admin" });
      }
    }
    await eventually(async () => (await dropped("other_start", ["services-1"])) >= earlier.length);
    expect(running.get("services-1")?.child.exitCode).toBeNull();
    expect(await call("GET", "/api/preferences")).toMatchObject({ theme: "system" });
  });
});
