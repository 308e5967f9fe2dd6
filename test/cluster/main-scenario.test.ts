// The same program in one process and in several: nothing may come to depend on being local.
import { expect, it } from "@jest/globals";
import { startCluster } from "../support/cluster.ts";
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

let alone: Step[] = [];

it("the main scenario passes in one process", async () => {
  alone = await inOneProcess();
  expect(alone.length).toBeGreaterThan(80);
}, 90_000);

describeWithNats("the gateway in one process, the services in another, NATS between them", () => {
  it("answers the main scenario as one process does: statuses, headers, fields, order and all", async () => {
    expect(await inSeveralProcesses()).toEqual(alone);
  }, 120_000);
});
