// A download through the gateway of a cluster: the bytes come from a process of the backups, opened on their way, at flat memory;
// a client that goes away ends it on both sides.
import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile, readlink } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Cluster, type Gateway, signInAt, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { demoPassword, eventually, type RunningProcess } from "../support/service.ts";
import { backUp, type Clinic, makePatient, openClinic } from "../api/backups/scene.ts";

/** Of one MB. */
const records = 48;
/** Some chunks and what the collector leaves lying; far below the file. */
const megabytesMax = 40;

describeWithNats("a download in a cluster", () => {
  let cluster: Cluster;
  let services: RunningProcess;
  let gateway: Gateway;
  let clinic: Clinic;
  let id: string;
  let file: { size_bytes: number; sha256: string };

  beforeAll(async () => {
    cluster = await startCluster();
    services = await cluster.startServices();
    gateway = await cluster.startGateway();
    const call: Gateway["call"] = (...args) => gateway.call(...args);
    const signInAs = async (email: string, subdomain: string) => {
      const body = { email, password: demoPassword, subdomain };
      return (await call("POST", "/api/auth/login", { body })).body.access_token;
    };
    clinic = await openClinic({ call, signInAs }, await signInAt(gateway, "superadmin"));
    const patient = await makePatient({ call }, clinic.token, "Somebody");
    // What does not compress; nobody opens it here.
    for (let nth = 0; nth < records; nth++)
      await cluster.database.owner.query(
        `insert into patient_records (id, tenant_id, patient_id, kind, body)
         select nextval('patient_records_id_seq'), $1, $2, 'note', substring(notes from 1 for 5) || $3::bytea
         from patients where id = $2`,
        [clinic.id, patient.id, randomBytes(1_048_576)],
      );
    id = (await backUp({ call }, clinic.token)).backup_id;
    file = (await call("GET", "/api/admin/backup/list", { token: clinic.token })).body.items[0];
  });
  afterAll(() => cluster?.stop());

  const memoryOf = async ({ child }: RunningProcess) => {
    const status = await readFile(`/proc/${child.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  };
  const options = () => ({
    path: `/api/admin/backup/download/${id}`,
    headers: { authorization: `Bearer ${clinic.token}` },
  });
  /** Times that a process has the archive open. */
  const opened = async ({ child }: RunningProcess) => {
    const folder = `/proc/${child.pid}/fd`;
    const links = await Promise.all(
      (await readdir(folder)).map((fd) => readlink(join(folder, fd)).catch(() => "")),
    );
    return links.filter((path) => path.includes(id)).length;
  };

  /** @returns the most that gateway and services held meanwhile, in MB */
  async function downloaded(): Promise<number[]> {
    const peaks = [0, 0];
    const answer = await fetch(`${gateway.url}${options().path}`, { headers: options().headers });
    const sum = createHash("sha256");
    let bytes = 0;
    let looked = 0;
    for await (const chunk of answer.body ?? []) {
      sum.update(chunk);
      bytes += chunk.length;
      if (bytes - looked < 4_000_000) continue;
      looked = bytes;
      for (const [at, each] of [gateway.process, services].entries())
        peaks[at] = Math.max(peaks[at] ?? 0, await memoryOf(each));
    }
    expect([bytes, sum.digest("hex")]).toEqual([file.size_bytes, file.sha256]);
    return peaks;
  }

  it("is the file of the list, and memory does not grow with what went through", async () => {
    expect(file.size_bytes).toBeGreaterThan(45_000_000);
    // The first one fills what the collector lets lie; 150 MB more must find room in it.
    const first = await downloaded();
    for (let nth = 0; nth < 3; nth++)
      for (const [at, peak] of (await downloaded()).entries())
        expect(peak - (first[at] ?? 0)).toBeLessThan(megabytesMax);
  });

  it("ends on both sides when the client goes, and waits for one that reads slowly", async () => {
    const before = await memoryOf(gateway.process);
    const client = request(gateway.url + options().path, options());
    const answer = await new Promise<import("node:http").IncomingMessage>((resolve) => {
      client.once("response", resolve).end();
    });
    // It has the head and reads no more: what is on the way stands still.
    await eventually(async () => (await opened(services)) === 1);
    expect((await memoryOf(gateway.process)) - before).toBeLessThan(megabytesMax);
    answer.destroy();
    await eventually(async () => (await opened(services)) === 0);
  });
});
