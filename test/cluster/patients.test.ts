// Patients over the bus: nothing of them can be read there, and a rotation that one node begins is borne by the others,
// which still hold the old keys.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { connect, type NatsConnection } from "nats";
import { type Cluster, type Gateway, signInAt, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { eventually } from "../support/service.ts";

const canary = {
  full_name: "Overheard Nobody Farthingale",
  notes: "whispers of quillwort",
  phone: "+9955110022",
};

let cluster: Cluster;
let gateway: Gateway;
let listener: NatsConnection;
let heard = 0;
const overheard: string[] = [];
let admin = "";
let superadmin = "";

describeWithNats("patients in a cluster", () => {
  beforeAll(async () => {
    cluster = await startCluster();
    const settings = { KEYS_HELD_SECONDS: "5", ROTATION_PACE_PERCENT: "100" };
    await Promise.all([cluster.startServices(settings), cluster.startServices(settings)]);
    gateway = await cluster.startGateway();
    listener = await connect({ servers: cluster.nats.address, ...cluster.nats.login });
    listener.subscribe(">", {
      callback: (_error, { data }) => {
        heard++;
        const text = Buffer.from(data).toString("latin1");
        overheard.push(...Object.values(canary).filter((each) => text.includes(each)));
      },
    });
    await listener.flush();
    admin = await signInAt(gateway, "admin");
    superadmin = await signInAt(gateway, "superadmin");
    await cluster.database.owner.query("update users set can_see_all_patients = true where role = 'admin'");
  });
  afterAll(async () => {
    await listener?.close();
    await cluster?.stop();
  });

  const call = (method: string, path: string, body?: unknown, token = admin) =>
    gateway.call(method, path, { token, body });

  it("are written, read and remembered without a word of theirs on the bus", async () => {
    const { status, body } = await call("POST", "/api/patients", { record_number: "B-1", ...canary });
    expect(status).toBe(201);
    for (let reading = 0; reading < 6; reading++)
      expect((await call("GET", `/api/patients/${body.id}`)).body).toMatchObject(canary);
    expect((await call("GET", "/api/patients")).body.items).toMatchObject([canary]);
    const { body: stats } = await call("GET", "/api/admin/cache/stats");
    expect(stats).toMatchObject({ nodes: 2 });
    expect(stats.hits).toBeGreaterThan(0);
    expect(heard).toBeGreaterThan(20);
    expect(overheard).toEqual([]);
  });

  it("are read and written on both nodes from the rotation's answer to its end", async () => {
    const ids: number[] = [];
    for (let n = 0; n < 20; n++) {
      const one = await call("POST", "/api/patients", { record_number: `R-${n}`, full_name: `Person ${n}` });
      ids.push(one.body.id);
    }
    // Both nodes hold the keys from before.
    for (const id of ids) await call("GET", `/api/patients/${id}`);
    const rotate = { new_key: randomBytes(32).toString("base64") };
    expect((await call("POST", "/api/admin/encryption/rotate", rotate, superadmin)).status).toBe(200);
    const versions = new Map(ids.map((id) => [id, 1]));
    const faults: unknown[] = [];
    const round = async (number: number) => {
      for (const [at, id] of ids.entries()) {
        const body = { version: versions.get(id), notes: `round ${number} of ${id}` };
        const written = await call("PUT", `/api/patients/${id}`, body);
        if (written.status === 200) versions.set(id, written.body.version);
        const read = await call("GET", `/api/patients/${id}`);
        if (
          written.status !== 200 ||
          read.body.notes !== body.notes ||
          read.body.full_name !== `Person ${at}`
        )
          faults.push([written.status, written.body, read.status, read.body]);
      }
    };
    let rounds = 0;
    await eventually(async () => {
      await round(++rounds);
      const { body } = await call("GET", "/api/admin/encryption/status", undefined, superadmin);
      return body.rotation.status === "finished" && body.keys.decrypt_only === 0;
    });
    await round(++rounds);
    expect(faults).toEqual([]);
    expect(rounds).toBeGreaterThan(3);
  });
});
