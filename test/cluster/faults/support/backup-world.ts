// A cluster with a store for faults of backups and restores: NATS, PostgreSQL and an S3 server behind a proxy, a gateway, a
// process of all services but the backups, and one of the backups that can be killed and replaced. Beside it a load: writers
// in another tenant, and readers of the one that is restored, who must see all old or all new.
import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { openClinic, type Clinic } from "../../../api/backups/scene.ts";
import { type FaultyProxy, startFaultyProxy } from "../../../unit/mixins/store/faulty-proxy.ts";
import { type Cluster, type Gateway, signInAt, startCluster } from "../../../support/cluster.ts";
import { type S3Server, startS3 } from "../../../support/s3.ts";
import { type Answer, type CallOptions, eventually, type RunningProcess } from "../../../support/service.ts";

const bucket = "faults";
const others = "audit,auth,cache,crypto,health,mail,messenger,patients,payments,tenants,users,webhooks";

export interface World {
  cluster: Cluster;
  gateway: Gateway;
  s3: S3Server;
  proxy: FaultyProxy;
  clinic: Clinic;
  /** Who works on while the clinic is restored. */
  neighbour: Clinic;
  worker: RunningProcess;
  /** Another process of the backups, in the place of one that was killed. */
  replaceWorker(): Promise<void>;
  /** One more, which is the worker from now on. */
  startWorker(): Promise<void>;
  rows(text: string, values?: unknown[]): Promise<pg.QueryResultRow[]>;
  /** undefined when nobody answered. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer | undefined>;
  /** Names of a backup's objects, as the server keeps them. */
  objectsOf(id: string): Promise<string[]>;
  /** Ids of all backups that have any object. */
  idsInStore(): Promise<string[]>;
  /** As if all that is in the store had been there for some hours. */
  ageStore(): Promise<void>;
  stop(): Promise<void>;
}

export async function startWorld(): Promise<World> {
  const [cluster, s3] = await Promise.all([startCluster(), startS3()]);
  // A crash of PostgreSQL ends it.
  cluster.database.owner.on("error", () => {});
  const { endpoint, region, accessKey, secretKey } = s3.options(bucket);
  const proxy = await startFaultyProxy(endpoint);
  const store = {
    S3_ENDPOINT: proxy.endpoint,
    S3_BUCKET: bucket,
    S3_REGION: region,
    S3_ACCESS_KEY: accessKey,
    S3_SECRET_KEY: secretKey,
  };
  await cluster.startServices({ SERVICES: others });
  const startWorker = () => cluster.startServices({ ...store, SERVICES: "backups" });
  const worker = await startWorker();
  const gateway = await cluster.startGateway();
  const pool = new pg.Pool({ connectionString: cluster.database.url, max: 2 });
  pool.on("error", () => {});
  const superadmin = await signInAt(gateway, "superadmin");
  const signInAs = async (email: string, subdomain: string) => {
    const body = { email, password: "Open-Sesame-4711", subdomain };
    return (await gateway.call("POST", "/api/auth/login", { body })).body.access_token;
  };
  const call: Gateway["call"] = (...args) => gateway.call(...args);
  const service = { call, signInAs };
  await eventually(
    async () => (await gateway.call("GET", "/api/admin/backup/list", { token: superadmin })).status === 200,
    30_000,
  );
  const folder = join(s3.folder, bucket, "backups");
  const entriesOf = (path: string) => readdir(path).catch(() => []);
  const world: World = {
    cluster,
    gateway,
    s3,
    proxy,
    worker,
    clinic: await openClinic(service, superadmin),
    neighbour: await openClinic(service, superadmin),
    async startWorker() {
      world.worker = await startWorker();
    },
    async replaceWorker() {
      world.worker.child.kill("SIGKILL");
      await world.worker.exited;
      world.worker = await startWorker();
    },
    rows: async (text, values = []) =>
      (await eventually(() => pool.query(text, values).catch(() => undefined), 30_000)).rows,
    call: (method, path, options) => gateway.call(method, path, options).catch(() => undefined),
    objectsOf: (id) => entriesOf(join(folder, id)),
    async idsInStore() {
      const ids = await entriesOf(folder);
      const filled = await Promise.all(ids.map(async (id) => (await entriesOf(join(folder, id))).length > 0));
      return ids.filter((_, at) => filled[at]);
    },
    async ageStore() {
      const long = new Date(Date.now() - 3 * 3_600_000);
      for (const id of await entriesOf(folder))
        for (const name of await entriesOf(join(folder, id)))
          await utimes(join(folder, id, name), long, long);
    },
    async stop() {
      await pool.end();
      await cluster.stop();
      await proxy.stop();
      await s3.stop();
    },
  };
  return world;
}

/** What a reader may be told of the clinic: the patients' numbers before the restore, or those after it. */
export interface Sides {
  old: string;
  new: string;
}

export interface Load {
  /** Stops it. @returns what was told that should not have been, and who was written */
  stop(): Promise<{ wrong: string[]; written: number[] }>;
}

/** Numbers of the clinic's patients, as one answer tells them. */
export async function seenIn(world: World): Promise<{ status: number; numbers: string }> {
  const answer = await world.call("GET", "/api/patients?limit=100", { token: world.clinic.token });
  const items: { record_number: string }[] = answer?.status === 200 ? answer.body.items : [];
  return {
    status: answer?.status ?? 0,
    numbers: items
      .map((each) => each.record_number)
      .sort()
      .join(),
  };
}

let written = 0;

/** @param outage whether a fault is under way that everybody notices: then 503 and broken connections are no error */
export function startLoad(world: World, sides: Sides, outage: () => boolean): Load {
  const ending = new AbortController();
  const wrong: string[] = [];
  const made: number[] = [];
  const write = async () => {
    while (!ending.signal.aborted) {
      const noticed = outage();
      const body = { record_number: `L-${++written}`, full_name: "Written Meanwhile" };
      const answer = await world.call("POST", "/api/patients", { token: world.neighbour.token, body });
      if (answer?.status === 201) made.push(answer.body.id);
      else if (!noticed && !outage()) wrong.push(`the neighbour was answered ${answer?.status}`);
      await delay(20);
    }
  };
  const read = async () => {
    let isNew = false;
    while (!ending.signal.aborted) {
      const { status, numbers } = await seenIn(world);
      if (status === 200 && numbers !== sides.old && numbers !== sides.new)
        wrong.push(`a reader saw ${numbers}, neither ${sides.old} nor ${sides.new}`);
      if (status === 200 && isNew && numbers === sides.old) wrong.push("a reader saw the old after the new");
      if (status === 200 && numbers === sides.new) isNew = true;
      await delay(10);
    }
  };
  const running = Promise.all([write(), write(), read(), read()]);
  return {
    async stop() {
      ending.abort();
      await running;
      return { wrong, written: made };
    },
  };
}
