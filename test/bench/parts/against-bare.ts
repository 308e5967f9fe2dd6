// `me` and `list`: the service and the bare program in turn, on the same rows of the same PostgreSQL.
import { bareOf, barePaths, homeOf, servicePaths } from "../home.ts";
import { cpuOf, inTurn, ratio, type Side } from "../measure.ts";
import { judge, say, table, title } from "../report.ts";
import type { Stage } from "../stage.ts";
import { getting } from "../tenant-clients.ts";

export async function me(stage: Stage): Promise<void> {
  title("me: a token and its session are checked, one user is read and answered");
  await againstBare(stage, "me", 0.5);
}

export async function list(stage: Stage): Promise<void> {
  title("list: 50 of 10 000 users with the exact total");
  await againstBare(stage, "list", 0.8);
}

async function againstBare(stage: Stage, what: "me" | "list", bound: number): Promise<void> {
  const home = await homeOf(stage);
  const bare = await bareOf(stage);
  await assertSameAnswer(what, home, bare);
  const sides: Side[] = [
    {
      name: "service",
      processId: home.service.processId,
      load: getting(stage, home.url, servicePaths[what], home.tokens),
    },
    {
      name: "bare",
      processId: bare.processId,
      load: getting(stage, bare.url, barePaths[what], bare.tokens),
    },
  ];
  const plan = { postgresId: stage.postgresId, rounds: stage.rounds, seconds: stage.roundSeconds };
  const [ours = [], theirs = []] = await inTurn(sides, plan);
  table([
    ["service", ours],
    ["bare Fastify + pg", theirs],
  ]);
  say(`CPU per request: ${ratio(ours, theirs, cpuOf).toFixed(2)} × bare`);
  judge({
    claim: `${what}, requests/s against bare`,
    measured: ratio(ours, theirs, ({ perSecond }) => perSecond),
    sense: "at least",
    bound,
    unit: "×",
  });
}

interface Answering {
  url: string;
  tokens: readonly string[];
}

/** Two programs that answer different things must not be compared. */
async function assertSameAnswer(what: "me" | "list", home: Answering, bare: Answering): Promise<void> {
  const answer = async ({ url, tokens }: Answering, path: string) => {
    const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${tokens[0]}` } });
    // Tokens come in the order of the answers, so the users may differ: their fields may not.
    return shapeOf(await response.json());
  };
  const [ours, theirs] = [await answer(home, servicePaths[what]), await answer(bare, barePaths[what])];
  if (ours !== theirs) throw new Error(`the answers differ:\n${ours}\n${theirs}`);
}

function shapeOf(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (inner === null || Array.isArray(inner)) return inner;
    if (typeof inner === "object") {
      return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
    }
    return typeof inner === "string" ? "text" : typeof inner;
  });
}
