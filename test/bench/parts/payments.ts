// Payment intake: signed notifications of different payments of one tenant, each verified, kept, applied, recorded and
// told, against a bare endpoint that inserts a row and answers; the same requests at the same concurrency.
import { paymentSettings } from "../../support/notifications.ts";
import { createTenants } from "../fill.ts";
import type { LoadResult } from "../load.ts";
import { cpuOf, inTurn, ratio, type Side } from "../measure.ts";
import type { PostsJob } from "../posts-child.ts";
import { judge, say, table, title } from "../report.ts";
import type { Stage } from "../stage.ts";
import { childProgram, runTask } from "../task.ts";

const connections = 64;
const countEach = 8_000;
const tenant = "paid";

export async function payments(stage: Stage): Promise<void> {
  title("payments: a signed notification taken in, against a bare insert-and-answer endpoint");
  const { owner, ownerUrl, settings, service: first } = await stage.scene("payments");
  await first.stop();
  await createTenants(owner, [tenant]);
  const service = await stage.startService({ ...settings, ...paymentSettings }, "payments-secrets.log");
  const bare = await stage.startProgram("bare-inbox.ts", ownerUrl);
  const count = stage.pick(countEach, countEach / 4, 128);
  let jobs = 0;
  const posting = (url: string) => (): Promise<LoadResult> => {
    const job: PostsJob = {
      url,
      path: "/webhooks/card-provider",
      prefix: `b${++jobs}`,
      tenant,
      count,
      connections,
    };
    return runTask(stage.cores.onLoadCore(childProgram("posts-child.ts")), job);
  };
  const sides: Side[] = [
    { name: "service", processId: service.processId, load: posting(`http://127.0.0.1:${service.captured}`) },
    { name: "bare", processId: bare.processId, load: posting(bare.captured) },
  ];
  const plan = { postgresId: stage.postgresId, rounds: stage.rounds, seconds: 0 };
  const [ours = [], theirs = []] = await inTurn(sides, plan);
  table([
    ["service", ours],
    ["bare node:http + pg", theirs],
  ]);
  say(`CPU per notification: ${ratio(ours, theirs, cpuOf).toFixed(2)} × bare`);
  const { rows } = await owner.query(
    "select count(*)::integer as told from events where kind = 'payment.succeeded'",
  );
  const sent = (count * jobs) / 2;
  if (rows[0].told !== sent) throw new Error(`${rows[0].told} events of ${sent} notifications`);
  judge({
    claim: `payment intake at ${connections} connections, notifications/s against bare`,
    measured: ratio(ours, theirs, ({ perSecond }) => perSecond),
    sense: "at least",
    bound: 0.5,
    unit: "×",
  });
  await service.stop();
  await bare.stop();
}
