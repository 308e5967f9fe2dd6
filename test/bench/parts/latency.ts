// What sign-ins do to others: `me` at a modest steady rate, alone and while four sign-ins are always in flight. A
// steady rate and not full speed, because a client that waits for its answers would hide the delays it should show.
import { homeOf, homeSubdomain, servicePaths } from "../home.ts";
import { judge, say, title } from "../report.ts";
import type { Stage } from "../stage.ts";
import { median } from "../statistics.ts";
import { getRequests, signInRequest } from "../tenant-clients.ts";

const perSecond = 200;
const signInsAtOnce = 4;
const signInUsers = 500;

export async function latency(stage: Stage): Promise<void> {
  title(`latency: me at ${perSecond}/s, alone and with ${signInsAtOnce} sign-ins in flight`);
  const home = await homeOf(stage);
  const seconds = stage.pick(5, 2, 0.5);
  const steady = {
    kind: "paced",
    url: home.url,
    requests: getRequests(servicePaths.me, home.tokens),
    connections: 64,
    perSecond,
    seconds,
  } as const;
  const rounds: { idle: number; busy: number; idleMiddle: number; busyMiddle: number; signIns: number }[] =
    [];
  await stage.load.clients(steady).result;
  for (let round = 0; round < stage.rounds; round++) {
    const idle = await stage.load.clients(steady).result;
    const signIns = stage.load.clients(signInLoop(home.url));
    const busy = await stage.load.clients(steady).result;
    signIns.finish();
    const signedIn = await signIns.result;
    if (idle.failed + busy.failed + signedIn.failed > 0)
      throw new Error("requests of the latency part failed");
    rounds.push({
      idle: idle.p99Ms,
      busy: busy.p99Ms,
      idleMiddle: idle.p50Ms,
      busyMiddle: busy.p50Ms,
      signIns: signedIn.answered / signedIn.seconds,
    });
  }
  const middle = (of: (round: (typeof rounds)[number]) => number) => median(rounds.map(of)).toFixed(2);
  say(`idle:          p50 ${middle((r) => r.idleMiddle)} ms, p99 ${middle((r) => r.idle)} ms`);
  say(`with sign-ins: p50 ${middle((r) => r.busyMiddle)} ms, p99 ${middle((r) => r.busy)} ms`);
  say(`sign-ins meanwhile: ${middle((r) => r.signIns)}/s`);
  judge({
    claim: "me, p99 while four sign-ins are in flight against idle",
    measured: median(rounds.map(({ busy, idle }) => busy / idle)),
    sense: "at most",
    bound: 3,
    unit: "×",
  });
}

function signInLoop(url: string) {
  const requests = Array.from({ length: signInUsers }, (_, index) =>
    signInRequest(servicePaths.login, homeSubdomain, 200 + index),
  );
  return { kind: "loop", url, requests, connections: signInsAtOnce } as const;
}
