// docs/nats.conf: a login on NATS for each kind of process. With it all kinds work together, and none hears what is meant for
// another.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { connect, type NatsConnection } from "nats";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { deployedKinds } from "../support/logins.ts";
import { type NatsServer, startNats } from "../support/nats.ts";
import {
  addressOf,
  type RunningProcess,
  runProcess,
  startDemoDatabase,
  type TestDatabase,
  testSettings,
} from "../support/service.ts";
import { served, signInServed } from "../support/served.ts";
import { root } from "./deployment-files.ts";

const kinds = ["gateway", ...Object.keys(deployedKinds)];
const passwordOf = (kind: string) => `of-${kind}-a7c1e5`;

describeWithNats("a login on NATS for each kind of process", () => {
  let database: TestDatabase;
  let nats: NatsServer;
  const processes: RunningProcess[] = [];

  const run = (kind: string, services: readonly string[]): RunningProcess => {
    const { DATABASE_URL = "", ...settings } = testSettings(database);
    const running = runProcess({
      ...settings,
      ...(kind === "gateway" ? {} : { DATABASE_URL }),
      NATS_URL: `nats://${kind}:${passwordOf(kind)}@${nats.address}`,
      NODE_ID: `${kind}.one`,
      SERVICES: services.join(","),
    });
    processes.push(running);
    return running;
  };

  /** @returns what NATS says of it */
  async function listening(kind: string, subject: string): Promise<string> {
    const bus: NatsConnection = await connect({
      servers: nats.address,
      user: kind,
      pass: passwordOf(kind),
    });
    try {
      const refused = new Promise<string>((resolve) => {
        bus.subscribe(subject, { callback: (error) => error !== null && resolve(error.message) });
      });
      // What was refused is told before the answer to what was asked after it.
      return await Promise.race([refused, bus.flush().then(() => "taken")]);
    } finally {
      await bus.close();
    }
  }

  beforeAll(async () => {
    database = await startDemoDatabase();
    const text = readFileSync(join(root, "docs/nats.conf"), "utf8");
    // nats-server would read these of its environment.
    const filled = text.replaceAll(/\$NATS_PASSWORD_([A-Z]+)/g, (_, kind: string) =>
      JSON.stringify(passwordOf(kind.toLowerCase())),
    );
    const file = join(database.folder, "nats.conf");
    await writeFile(file, filled);
    nats = await startNats(["-c", file]);
  });
  afterAll(async () => {
    await Promise.all(processes.map((running) => running.stop()));
    await nats?.stop();
    await database?.stop();
  });

  it("carries calls of all kinds, and their answers", async () => {
    const running = Object.entries(deployedKinds).map(([kind, services]) => run(kind, services));
    const url = await addressOf(run("gateway", ["api-gateway"]));
    for (const each of running) await each.printed(/Records service is ready/);
    const token = await signInServed(url);
    // Of support, outbound, backups and, for the ring of keys, crypto.
    for (const path of [
      "/api/admin/health",
      "/api/webhooks",
      "/api/admin/backup/list",
      "/api/admin/encryption/status",
    ]) {
      const answer = await served(url, "GET", path, { token });
      expect([path, answer.status]).toEqual([path, 200]);
    }
    for (const each of processes) expect(each.output()).not.toMatch(/refuses what this node must hear/);
  });

  it.each(kinds)("%s hears what is for its own kind, and nothing that is for another", async (kind) => {
    expect(await listening(kind, `MOL-records.REQ.${kind}.any`)).toBe("taken");
    expect(await listening(kind, "MOL-records.INFO")).toBe("taken");
    for (const other of kinds.filter((each) => each !== kind))
      expect(await listening(kind, `MOL-records.REQ.${other}.any`)).toMatch(/Permissions Violation/);
    for (const all of ["MOL-records.>", "MOL-records.*.*.*", ">", "MOL-other.INFO"])
      expect(await listening(kind, all)).toMatch(/Permissions Violation/);
  });
});
