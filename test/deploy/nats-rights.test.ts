// What docs/deploy.md says NATS must be given is enough: a server that insists on TLS, and a user with a right to the
// subjects of this installation and to nothing else.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { type NatsServer, startNats } from "../support/nats.ts";
import {
  addressOf,
  callApi,
  type RunningProcess,
  runProcess,
  startDatabase,
  type TestDatabase,
  testSettings,
} from "../support/service.ts";
import { signInServed } from "../support/served.ts";

const certificate = join(import.meta.dirname, "../unit/services/mail/certificate/certificate.pem");
const key = join(import.meta.dirname, "../unit/services/mail/certificate/key.pem");
const rights = '{ publish: ["MOL-records.>"], subscribe: ["MOL-records.>"] }';

describeWithNats("a bus with TLS and narrow rights", () => {
  let database: TestDatabase;
  let nats: NatsServer;
  const processes: RunningProcess[] = [];

  const run = (services: string): RunningProcess => {
    const { DATABASE_URL = "", ...settings } = testSettings(database);
    const running = runProcess({
      ...settings,
      ...(services === "api-gateway" ? {} : { DATABASE_URL }),
      NATS_URL: `tls://services:a7c1e5@localhost:${nats.address.split(":")[1]}`,
      NODE_EXTRA_CA_CERTS: certificate,
      SERVICES: services,
    });
    processes.push(running);
    return running;
  };

  beforeAll(async () => {
    database = await startDatabase();
    const file = join(database.folder, "nats.conf");
    await writeFile(
      file,
      `tls { cert_file: "${certificate}", key_file: "${key}" }
       authorization { users = [ { user: services, password: "a7c1e5", permissions: ${rights} } ] }`,
    );
    nats = await startNats(["-c", file]);
  });
  afterAll(async () => {
    await Promise.all(processes.map((running) => running.stop()));
    await nats.stop();
    await database.stop();
  });

  it("carries calls and their answers between processes", async () => {
    const services = run("audit,auth,crypto,health,mail,patients,payments,tenants,users");
    const url = await addressOf(run("api-gateway"));
    await services.printed(/Records service is ready/);
    const token = await signInServed(url);
    const health = await callApi(url, "GET", "/api/admin/health", { token });
    expect(health).toMatchObject({ status: 200, body: { checks: { bus: "ok" } } });
  });
});
