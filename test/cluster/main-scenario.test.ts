// The same program in one process and in several: nothing may come to depend on being local.
import { expect, it } from "@jest/globals";
import { startCluster } from "../support/cluster.ts";
import { deployedKinds } from "../support/logins.ts";
import { mainScenario, type Step } from "../support/main-scenario.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { startService } from "../support/service.ts";

async function inOneProcess(): Promise<Step[]> {
  const service = await startService();
  try {
    return await mainScenario(service.url);
  } finally {
    await service.stop();
  }
}

async function inSeveralProcesses(): Promise<Step[]> {
  const cluster = await startCluster();
  try {
    await cluster.startServices();
    const gateway = await cluster.startGateway();
    return await mainScenario(gateway.url);
  } finally {
    await cluster.stop();
  }
}

/** Nobody has the owner's login, and each process only what its own services may. */
async function withTheirOwnLogins(): Promise<{ steps: Step[]; logs: string; altered: number }> {
  const cluster = await startCluster();
  try {
    const running = await cluster.startApart(deployedKinds);
    const gateway = await cluster.startGateway();
    const steps = await mainScenario(gateway.url);
    const { rows } = await cluster.database.owner.query(
      "select count(*)::integer as altered from audit_entries where action like '%.altered'",
    );
    return { steps, logs: running.map((each) => each.output()).join("\n"), altered: rows[0].altered };
  } finally {
    await cluster.stop();
  }
}

let alone: Step[] = [];

it("the main scenario passes in one process", async () => {
  alone = await inOneProcess();
  expect(alone.length).toBeGreaterThan(80);
});

describeWithNats("the gateway in one process, the services in another, NATS between them", () => {
  it("answers the main scenario as one process does: statuses, headers, fields, order and all", async () => {
    expect(await inSeveralProcesses()).toEqual(alone);
  });

  it("does the same where each kind of process has a database login of its own", async () => {
    const { steps, logs, altered } = await withTheirOwnLogins();
    expect(steps).toEqual(alone);
    expect(logs).not.toMatch(/permission denied|42501/);
    expect(altered).toBe(0);
  });
});
