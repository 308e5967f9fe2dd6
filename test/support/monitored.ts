// The service as two processes on NATS, both scraped by a real Prometheus, and a little of everything that it shows figures
// of: for the tests of the dashboard's queries, and for the pictures in the docs.
import { randomBytes } from "node:crypto";
import { type Cluster, type Gateway, signInAt, startCluster } from "./cluster.ts";
import { freePort } from "./nats.ts";
import { cardBody, cardSignature, paymentSettings } from "./notifications.ts";
import { type Prometheus, startPrometheus } from "./prometheus.ts";
import { demoPassword, eventually } from "./service.ts";
import { type Receiver, startReceiver } from "./webhooks.ts";

export interface Monitored {
  cluster: Cluster;
  gateway: Gateway;
  prometheus: Prometheus;
  /** By the name of the instance. */
  ports: Readonly<Record<"gateway" | "services", number>>;
  /** Once what happens rarely: a backup, its trial, a rotation, a webhook, a look for faults. */
  happenings(): Promise<void>;
  /** Some requests of everyday. @param round differs each time */
  everyday(round: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startMonitored(rules?: string): Promise<Monitored> {
  const cluster = await startCluster();
  const receiver = await startReceiver();
  const [one, two] = [await freePort(), await freePort()];
  const ports = { gateway: one, services: two };
  const stopping: (() => Promise<void>)[] = [() => receiver.stop(), () => cluster.stop()];
  const stop = async () => {
    for (const each of stopping.splice(0)) await each();
  };
  try {
    await cluster.startServices({
      ...paymentSettings,
      METRICS_PORT: String(two),
      WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8",
      KEYS_HELD_SECONDS: "5",
    });
    const gateway = await cluster.startGateway({ METRICS_PORT: String(one) });
    const prometheus = await startPrometheus({ targets: ports, ...(rules === undefined ? {} : { rules }) });
    stopping.unshift(() => prometheus.stop());
    const world = { cluster, gateway, receiver };
    const tokens = {
      admin: await signInAt(gateway, "admin"),
      superadmin: await signInAt(gateway, "superadmin"),
      doctor: await signInAt(gateway, "doctor"),
    };
    return {
      cluster,
      gateway,
      prometheus,
      ports,
      happenings: () => happenings(world, tokens),
      everyday: (round) => everyday(world, tokens, round),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface World {
  cluster: Cluster;
  gateway: Gateway;
  receiver: Receiver;
}
interface Tokens {
  admin: string;
  superadmin: string;
  doctor: string;
}

async function happenings(
  { cluster, gateway, receiver }: World,
  { admin, superadmin }: Tokens,
): Promise<void> {
  const asked = async (method: string, path: string, token: string, body?: object) => {
    const answer = await gateway.call(method, path, { token, ...(body === undefined ? {} : { body }) });
    if (answer.status >= 400)
      throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  await asked("POST", "/api/webhooks/register", admin, {
    url: receiver.url,
    events: ["payment.succeeded", "payment.failed"],
  });
  const key = randomBytes(32).toString("base64");
  await asked("POST", "/api/admin/encryption/rotate", superadmin, { new_key: key });
  const { job_id: job } = await asked("POST", "/api/admin/backup/create", superadmin, { type: "full" });
  await eventually(async () => {
    const { status, error } = await asked("GET", `/api/admin/backup/status/${job}`, superadmin);
    if (status === "failed") throw new Error(`the backup failed: ${error}`);
    return status === "succeeded";
  }, 120_000);
  for (const task of ["backups.prove", "self-healing.look"])
    await cluster.database.owner.query("select graphile_worker.add_job($1)", [task]);
  await eventually(async () => {
    const { rows } = await cluster.database.owner.query(
      "select (select count(*) from backups where test_passed) > 0 and (select count(*) from fault_looks) > 0 as done",
    );
    return rows[0].done;
  }, 120_000);
}

async function everyday({ gateway }: World, { admin, doctor }: Tokens, round: number): Promise<void> {
  const body = { record_number: `M-${round}-${randomBytes(4).toString("hex")}`, full_name: "Anna Muster" };
  const { body: patient } = await gateway.call("POST", "/api/patients", { token: doctor, body });
  const paths = [
    "/api/patients?limit=20",
    "/api/users/me",
    `/api/patients/${patient.id}`,
    `/api/patients/${patient.id}`,
  ];
  for (const path of [...paths, "/api/patients/999999"]) await gateway.call("GET", path, { token: doctor });
  await gateway.call("GET", "/api/admin/users", { token: admin });
  const signIn = { email: "nurse@demo.example", subdomain: "demo" };
  const password = round % 5 === 0 ? "not-the-password-1" : demoPassword;
  await gateway.call("POST", "/api/auth/login", { body: { ...signIn, password } });
  const notification = cardBody({
    id: `monitored-${round}`,
    type: round % 4 === 0 ? "payment.failed" : "payment.succeeded",
  });
  const headers = { "provider-signature": cardSignature(notification), "content-type": "application/json" };
  await gateway.call("POST", "/webhooks/card-provider", { body: notification, headers });
}
