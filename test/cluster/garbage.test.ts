// A stranger who has the bus's login and floods a gateway with messages that look like ours, each under a salt of its
// own: they are read and dropped, and clients go on being answered.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { connect, type NatsConnection } from "nats";
import { type Cluster, type Gateway, signInAt, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { freePort } from "../support/nats.ts";
import { eventually } from "../support/service.ts";

const messages = 60_000;
/** What a message of ours of this length may cost its receiver, and more: machines differ, and are busy. */
const cpuMicrosecondsMax = 150;
const clockTicksPerSecond = 100;

let cluster: Cluster;
let gateway: Gateway;
let bus: NatsConnection;
let token = "";
let metrics = "";

/** As ours begin: version, salt, moment, counter. */
function garbage(): Buffer {
  const message = randomBytes(300);
  message[0] = 2;
  message.writeUIntBE(Date.now(), 17, 6);
  return message;
}

async function cpuSeconds(): Promise<number> {
  const stat = await readFile(`/proc/${gateway.process.child.pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond;
}

async function droppedAsForeign(): Promise<number> {
  const text = await (await fetch(metrics)).text();
  return Number(/^records_bus_dropped_total\{reason="foreign"\} (\d+)$/m.exec(text)?.[1] ?? "NaN");
}

describeWithNats("garbage on the bus", () => {
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.startServices({ NODE_ID: "services-1" });
    const port = await freePort();
    metrics = `http://127.0.0.1:${port}/metrics`;
    gateway = await cluster.startGateway({ NODE_ID: "gateway-1", METRICS_PORT: String(port) });
    bus = await connect({ servers: cluster.nats.address, ...cluster.nats.login });
    token = await signInAt(gateway, "admin");
  });
  afterAll(async () => {
    await bus?.close();
    await cluster?.stop();
  });

  it("60 000 messages of strangers leave the gateway answering, and cost little each", async () => {
    const before = { cpu: await cpuSeconds(), dropped: await droppedAsForeign() };
    const ending = new AbortController();
    const answers: number[] = [];
    const client = async () => {
      do answers.push((await gateway.call("GET", "/api/users/me", { token })).status);
      while (!ending.signal.aborted);
    };
    const clients = Promise.all([client(), client(), client(), client()]);
    for (let sent = 0; sent < messages; sent += 100) {
      for (let more = 0; more < 100; more++) bus.publish("MOL-records.RES.gateway-1", garbage());
      await bus.flush();
    }
    ending.abort();
    await clients;
    await eventually(async () => (await droppedAsForeign()) - before.dropped === messages);
    expect(new Set(answers)).toEqual(new Set([200]));
    const spent = ((await cpuSeconds()) - before.cpu) * 1_000_000;
    process.stdout.write(
      `garbage: ${answers.length} answers meanwhile, ${(spent / messages).toFixed(1)} us of CPU each\n`,
    );
    expect(spent / messages).toBeLessThan(cpuMicrosecondsMax);
  });
});
