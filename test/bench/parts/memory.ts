// Memory of the one process, without PostgreSQL: at rest after its start, after 20 000 requests and after 200 000.
import { setTimeout as delay } from "node:timers/promises";
import { residentMbOf } from "../cpu.ts";
import { homeOf, servicePaths } from "../home.ts";
import { judge, say, title } from "../report.ts";
import type { Stage } from "../stage.ts";
import { connections, getRequests } from "../tenant-clients.ts";

/** So that what start-up left behind may be collected; "at rest" means nothing else. */
const restMs = 3_000;

export async function memory(stage: Stage): Promise<void> {
  title("memory: resident size of the one process, without PostgreSQL");
  const few = stage.pick(20_000, 20_000, 200);
  const many = few * 10;
  const home = await homeOf(stage);
  const service = await stage.startService(home.settings, "memory.log");
  await delay(stage.pick(restMs, restMs, 0));
  const atRest = residentMbOf(service.processId);
  const send = async (path: string, amount: number) => {
    const job = {
      url: `http://127.0.0.1:${service.captured}`,
      requests: getRequests(path, home.tokens),
      connections,
    };
    const { failed } = await stage.load.amount(job, amount);
    if (failed > 0) throw new Error(`${failed} requests failed`);
  };
  // One in ten is a list.
  const sendBoth = async (amount: number) => {
    await send(servicePaths.list, amount / 10);
    await send(servicePaths.me, (amount / 10) * 9);
  };
  await sendBoth(few);
  const afterFew = residentMbOf(service.processId);
  await sendBoth(many - few);
  const afterMany = residentMbOf(service.processId);
  await service.stop();
  const mb = (value: number) => `${value.toFixed(0)} MB`;
  say(`at rest ${mb(atRest)}, after ${few} requests ${mb(afterFew)}, after ${many} ${mb(afterMany)}`);
  judge({ claim: "memory at rest", measured: atRest, sense: "at most", bound: 250, unit: "MB" });
  judge({
    claim: `memory after ${many} requests against ${few}`,
    measured: afterMany / afterFew,
    sense: "at most",
    bound: 1.2,
    unit: "×",
  });
}
