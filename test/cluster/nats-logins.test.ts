// The ways in which operators run NATS: a list of servers, tokens, nkeys, credentials, certificates, TLS from the first byte.
import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { makeCredentials, makeNkey } from "../support/nats-identities.ts";
import { freePort, type NatsServer, startNats } from "../support/nats.ts";
import { eventually, type RunningProcess, runProcess } from "../support/service.ts";

const certificate = join(import.meta.dirname, "../unit/services/mail/certificate/certificate.pem");
const key = join(import.meta.dirname, "../unit/services/mail/certificate/key.pem");

let folder: string;
const servers: NatsServer[] = [];
const relays: Server[] = [];
const processes: RunningProcess[] = [];

/** A gateway: it needs the bus and nothing else, so that it is ready shows that it was let in. */
function gateway(settings: Record<string, string>): RunningProcess {
  const running = runProcess({
    BUS_SECRET: "b7Xq2LmZ0vR8tK5wY1nC4dG6hJ9sP3fA",
    DATA_DIR: join(folder, "data"),
    PORT: "0",
    SERVICES: "api-gateway",
    ...settings,
  });
  processes.push(running);
  return running;
}

/** Whether it becomes ready; otherwise it ends. */
const isIn = (running: RunningProcess) =>
  running.printed(/Records service is ready/).then(
    () => true,
    () => false,
  );

async function isLetIn(settings: Record<string, string>): Promise<void> {
  const running = gateway(settings);
  await running.printed(/Records service is ready/);
  expect(await running.stop()).toBe(0);
}

async function isRefused(settings: Record<string, string>, sentence: string): Promise<void> {
  const running = gateway(settings);
  expect(await running.exited).toBe(1);
  // On a busy machine it has said before that it waits.
  expect(running.output().trimEnd().split("\n").at(-1)).toBe(sentence);
}

let files = 0;
async function fileOf(text: string): Promise<string> {
  const file = join(folder, `file-${files++}`);
  await writeFile(file, text, { mode: 0o600 });
  return file;
}

async function serverWith(configuration: string): Promise<NatsServer> {
  const server = await startNats(["-c", await fileOf(configuration)]);
  servers.push(server);
  return server;
}

describeWithNats("NATS as operators run it", () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "records-nats-"));
  });
  afterEach(async () => {
    await Promise.all(processes.splice(0).map((running) => running.stop()));
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    for (const relay of relays.splice(0)) relay.close();
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("a token", async () => {
    const { address } = await serverWith("authorization { token: of-all-services }");
    await isLetIn({ NATS_URL: `nats://${address}`, NATS_TOKEN: "of-all-services" });
    const sentence = `The bus at ${address} refuses the login of NATS_TOKEN.`;
    await isRefused({ NATS_URL: `nats://${address}`, NATS_TOKEN: "of-nobody" }, sentence);
  });

  it("an nkey", async () => {
    const [ours, anothers] = [makeNkey(), makeNkey()];
    const { address } = await serverWith(`authorization { users = [ { nkey: ${ours.publicKey} } ] }`);
    await isLetIn({ NATS_URL: `nats://${address}`, NATS_NKEY_SEED_FILE: await fileOf(ours.seed) });
    const sentence = `The bus at ${address} refuses the login of NATS_NKEY_SEED.`;
    await isRefused({ NATS_URL: `nats://${address}`, NATS_NKEY_SEED: anothers.seed }, sentence);
  });

  it("credentials of a decentralised account", async () => {
    const [ours, anothers] = [makeCredentials(), makeCredentials()];
    const { address } = await serverWith(ours.configuration);
    await isLetIn({ NATS_URL: `nats://${address}`, NATS_CREDS_FILE: await fileOf(ours.file) });
    const sentence = `The bus at ${address} refuses the login of NATS_CREDS.`;
    await isRefused(
      { NATS_URL: `nats://${address}`, NATS_CREDS_FILE: await fileOf(anothers.file) },
      sentence,
    );
  });

  it("a certificate of an authority of its own, and one that clients must show", async () => {
    const { address } = await serverWith(
      `tls { cert_file: "${certificate}", key_file: "${key}", ca_file: "${certificate}", verify: true }`,
    );
    const bus = { NATS_URL: `tls://${address}`, NATS_CA_FILE: certificate };
    await isLetIn({ ...bus, NATS_CERT_FILE: certificate, NATS_KEY_FILE: key });
    const { NATS_CA_FILE: _authority, ...untrusting } = {
      ...bus,
      NATS_CERT_FILE: certificate,
      NATS_KEY_FILE: key,
    };
    const reason = "DEPTH_ZERO_SELF_SIGNED_CERT";
    await isRefused(untrusting, `The bus at ${address} cannot be reached with NATS_URL (${reason}).`);
  });

  it("TLS from the first byte", async () => {
    const { address } = await serverWith("authorization { token: of-all-services }");
    const [host = "", port] = address.split(":");
    const [cert, privateKey] = await Promise.all([readFile(certificate), readFile(key)]);
    const relay = createServer({ cert, key: privateKey }, (socket) => {
      const onward = connect(Number(port), host);
      // What a server that is set up so says of itself.
      onward.once("data", (info: Buffer) => {
        socket.write(info.toString().replace('"headers":true', '"headers":true,"tls_required":true'));
        onward.pipe(socket);
      });
      socket.on("error", () => onward.destroy()).on("close", () => onward.destroy());
      onward.on("error", () => socket.destroy()).on("close", () => socket.destroy());
      socket.pipe(onward);
    });
    relays.push(relay);
    const secure = await freePort();
    await new Promise<void>((resolve) => relay.listen(secure, "127.0.0.1", resolve));
    await isLetIn({
      NATS_URL: `tls://127.0.0.1:${secure}`,
      NATS_TOKEN: "of-all-services",
      NATS_CA_FILE: certificate,
      NATS_TLS_FIRST: "true",
    });
  });

  it("a list of servers, of which the first is down", async () => {
    const server = await startNats();
    servers.push(server);
    const { url, address } = server;
    const down = await freePort();
    const login = url.slice("nats://".length, -address.length - 1);
    await isLetIn({ NATS_URL: `nats://${login}@127.0.0.1:${down},nats://${address}` });
  });

  it("a list of which one server ends while the process runs", async () => {
    const routes = await freePort();
    const cluster = (mine: string) =>
      `cluster { name: tests, listen: "127.0.0.1:${mine}", routes: [ "nats://127.0.0.1:${routes}" ] }`;
    const [one, other] = [await serverWith(cluster(String(routes))), await serverWith(cluster("-1"))];
    const health = await freePort();
    const settings = {
      NATS_URL: `nats://${one.address},nats://${other.address}`,
      HEALTH_PORT: String(health),
    };
    const running = gateway(settings);
    const isReady = async () => {
      const answer = await fetch(`http://127.0.0.1:${health}/readyz`);
      // A fixed shape of ours. It is alone, so that the bus is there is all that can be asked.
      return ((await answer.json()) as { checks: { bus: string } }).checks.bus === "ok";
    };
    await running.printed(/Records service is ready/);
    // Each ends in turn, so it was connected to one of them.
    for (const server of [one, other]) {
      await server.kill();
      await eventually(isReady);
      await server.start();
    }
    await running.printed(/the bus is back/);
    await eventually(isReady);
    expect(await running.stop()).toBe(0);
  });

  it("credentials that are changed without an outage: two users for a while", async () => {
    const user = (name: string) => `{ user: ${name}, password: "${name}-password-of-tests" }`;
    const users = (...names: string[]) => `authorization { users = [ ${names.map(user).join(", ")} ] }`;
    const file = await fileOf(users("old"));
    const server = await startNats(["-c", file]);
    servers.push(server);
    const settings = (name: string) => ({
      NATS_URL: `nats://${name}:${name}-password-of-tests@${server.address}`,
    });
    const reload = async (...names: string[]) => {
      await writeFile(file, users(...names));
      process.kill(server.processId(), "SIGHUP");
    };
    const before = gateway(settings("old"));
    await before.printed(/Records service is ready/);
    await reload("old", "new");
    const after = await eventually(async () => {
      // Until the server has read its file again, it is refused.
      const running = gateway(settings("new"));
      return (await isIn(running)) && running;
    });
    expect(before.output()).not.toMatch(/the bus is away/);
    expect(await before.stop()).toBe(0);
    await reload("new");
    await eventually(async () => {
      const running = gateway(settings("old"));
      const isRefusedNow = !(await isIn(running));
      await running.stop();
      return isRefusedNow;
    });
    expect(after.output()).not.toMatch(/the bus is away/);
    expect(await after.stop()).toBe(0);
  });
});
