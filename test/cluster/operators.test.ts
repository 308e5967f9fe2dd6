// Operators' commands in a cluster of real processes: they join NATS as a node, with what a pod's environment has, and leave
// no trace but what they did.
import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Ended, runCli } from "../support/cli.ts";
import { type Cluster, type Gateway, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import type { RunningProcess } from "../support/service.ts";
import { describeWithTerminal, openTerminal, type Terminal } from "../support/terminal.ts";

const root = join(import.meta.dirname, "../..");

let cluster: Cluster;
let gateway: Gateway;
let services: RunningProcess;
let home: string;
const terminals: Terminal[] = [];

/** One that outlives a failed test is closed. */
function inTerminal(command: string, env: Record<string, string>): Terminal {
  const { PATH = "" } = process.env;
  const terminal = openTerminal(`stty cols 150; exec '${process.execPath}' operators/${command}`, root, {
    ...env,
    PATH,
  });
  terminals.push(terminal);
  return terminal;
}

/** What the gateway's pod has: the bus, its own name and ports, and no other secret. */
function podEnvironment(): Record<string, string> {
  const { NATS_URL = "", BUS_SECRET = "" } = cluster.settings;
  return {
    NODE_ENV: "production",
    NATS_URL,
    BUS_SECRET,
    NODE_ID: "gateway-1",
    SERVICES: "api-gateway",
    HEALTH_PORT: "1",
    METRICS_PORT: "1",
    DATA_DIR: join(home, "data"),
    HOME: home,
    TMPDIR: home,
    NODE_DISABLE_COMPILE_CACHE: "1",
  };
}

const cli = (...args: string[]): Promise<Ended> => runCli(podEnvironment(), ...args);

// biome-ignore lint/suspicious/noExplicitAny: answers have every shape
async function answered(...args: string[]): Promise<any> {
  const { code, out, err } = await cli(...args, "--json");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out);
}

const operatorOf = async (action: string) => {
  const { rows } = await cluster.database.owner.query(
    "select changes ->> 'operator' as operator from audit_entries where action = $1 order by id desc limit 1",
    [action],
  );
  return rows[0]?.operator;
};

describeWithNats("operators' commands on NATS", () => {
  beforeAll(async () => {
    cluster = await startCluster();
    home = join(cluster.database.folder, "pod");
    await mkdir(home);
    services = await cluster.startServices({ NODE_ID: "services-1" });
    gateway = await cluster.startGateway({ NODE_ID: "gateway-1" });
  });
  afterEach(() => {
    for (const terminal of terminals.splice(0)) terminal.close();
  });
  afterAll(() => cluster?.stop());

  it("see the whole cluster, and are no part of it", async () => {
    const nodes = await answered("nodes");
    expect(nodes.items.map(({ node }: { node: string }) => node).sort()).toEqual(["gateway-1", "services-1"]);
    const levels = await answered("loglevel");
    expect(levels.items.map(({ node }: { node: string }) => node).sort()).toEqual([
      "gateway-1",
      "services-1",
    ]);
    expect(await answered("health")).toMatchObject({ status: "ok", checks: { bus: "ok" } });
    expect((await answered("jobs")).silent).toBeUndefined();
    // They have no settings that others could differ from.
    for (const running of [services, gateway.process])
      expect(running.output()).not.toMatch(/operator-.*differ/);
  });

  it("change and destroy under a name, with the same exit codes", async () => {
    const { items } = await answered("users", "--search", "nurse@demo.example");
    const id = String(items[0].id);
    expect(await answered("block", id, "--as", "ada")).toMatchObject({ is_active: false });
    expect(await operatorOf("user.block")).toBe("ada");
    expect(await answered("unlock", id, "--as", "ada")).toMatchObject({ is_active: true });
    expect(await cli("users", "delete", id, "--as", "ada")).toMatchObject({ code: 2, out: "" });
    expect(await cli("block", "2147483647", "--as", "ada")).toEqual({
      code: 1,
      out: "",
      err: "404 not_found: User not found\n",
    });
    const made = await answered("backup", "create", "--as", "grace");
    expect(made).toMatchObject({ type: "full", status: "succeeded" });
    expect(await operatorOf("backup.create")).toBe("grace");
    expect(await answered("backup", "delete", made.backup_id, "--yes", "--as", "grace")).toEqual({
      deleted: true,
    });
    const gone = await gateway.call("GET", "/api/auth/tenants");
    expect(gone.status).toBe(200);
  });

  it("write no file of a pod", async () => {
    expect((await cli("tenants")).code).toBe(0);
    expect(await readdir(home)).toEqual([]);
    expect(existsSync(join(home, "data"))).toBe(false);
  });

  it("say in one sentence what keeps them from the bus: 3, or 2 where a setting is wrong", async () => {
    const stranger = await runCli(
      { ...podEnvironment(), BUS_SECRET: "b7Xq2LmZ0vR8tK5wY1nC4dG6hJ9sP3fA" },
      "tenants",
    );
    expect(stranger).toMatchObject({ code: 3, out: "" });
    const { BUS_SECRET: _none, ...without } = podEnvironment();
    expect(await runCli(without, "tenants", "--json")).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining("BUS_SECRET (or BUS_SECRET_FILE) must be set when NATS_URL is set."),
    });
  });

  describeWithTerminal("at the prompt", () => {
    it("joins as a node, completes, asks before it destroys, and leaves", async () => {
      const terminal = inTerminal("repl.ts --as ada", podEnvironment());
      await terminal.shows(/under the name ada\.[^]*records \$ /);
      terminal.type("nodes\r");
      await terminal.shows(/gateway-1 +there[^]*services-1 +there/);
      terminal.type("tenants create pro");
      terminal.type("mpt 'Clinic of the Prompt'\r");
      const [, id = ""] = await terminal.shows(/id +(\d+)[^]*subdomain +prompt/);
      terminal.type("loglev\t");
      await terminal.shows(/loglevel /);
      terminal.type("\r");
      await terminal.shows(/gateway-1 +main info/);
      terminal.type(`tenants delete ${id}\r`);
      await terminal.shows(/deletes the tenant Clinic of the Prompt[^]*Type prompt to go on: /);
      terminal.type("no\r");
      await terminal.shows(/That is not it: nothing was done\./);
      terminal.type(`tenants delete ${id}\r`);
      await terminal.shows(/nothing was done[^]*Type prompt to go on: /);
      terminal.type("prompt\r");
      await terminal.shows(/deleted +true/);
      expect(await operatorOf("tenant.delete")).toBe("ada");
      terminal.type("dcall services-1 users.list\r");
      await terminal.shows(/There is no command dcall/);
      terminal.type("\u0004");
      expect(await terminal.exited).toBe(0);
      expect(await readdir(home)).toEqual([]);
    });

    it("a command asks on a terminal, and shows a bar of long work", async () => {
      const type = (words: string) => inTerminal(`cli.ts ${words}`, podEnvironment());
      const made = type("backup create --as ada");
      await made.shows(/\[#+\.*\] +\d+ %/);
      const [, backup = ""] = await made.shows(/backup_id +(bk_[0-9a-f]{32})/);
      expect(await made.exited).toBe(0);
      const kept = type(`backup delete ${backup} --as ada`);
      await kept.shows(/deletes the backup bk_\w+ for good[^]*Type bk_\w+ to go on: /);
      kept.type("\u0003");
      expect(await kept.exited).toBe(130);
      expect(kept.shown()).toContain("Nothing was done.");
      const deleted = type(`backup delete ${backup} --as ada`);
      await deleted.shows(/to go on: /);
      deleted.type(`${backup}\r`);
      expect(await deleted.exited).toBe(0);
    });

    it("Ctrl-C leaves the job alone, and says how to follow it", async () => {
      // The backup waits for this table, and the operator for the backup.
      const { owner } = cluster.database;
      await owner.query("begin");
      await owner.query("lock table patients in access exclusive mode");
      const waiting = inTerminal("cli.ts backup create --as ada", podEnvironment());
      await waiting.shows(/\[#*\.+\] +\d+ %/);
      waiting.type("\u0003");
      expect(await waiting.exited).toBe(130);
      const [, job = ""] = await waiting.shows(
        /The job goes on in the service: `backup wait (\S+)` follows it\./,
      );
      await owner.query("rollback");
      expect(await answered("backup", "wait", job)).toMatchObject({ job_id: job, status: "succeeded" });
    });
  });
});
