// Growth: the same requests to a tenant of 10 000 users and to one of a million in the same tables, and to a tenant
// alone in its tables and one among a hundred. Ratios are of CPU per request and of p50 over HTTP.
import { addUsers, createTenants, rareNameUsers, type Tenant } from "../fill.ts";
import { rareName } from "../names.ts";
import { homeOf, homeUsersOf, servicePaths } from "../home.ts";
import { cpuOf, inTurn, ratio, type Sample, type Side } from "../measure.ts";
import { judge, say, table, title } from "../report.ts";
import type { Scene, Stage } from "../stage.ts";
import { getting, tokensOf, warmUp } from "../tenant-clients.ts";

const millionUsers = 1_000_000;
const tenantsInHundred = 100;
/** Among the hundred: neither the first nor the last. */
const oneOfHundred = 50;

const searchPath = `/api/admin/users?search=${rareName}`;
const requests = [
  ["me", servicePaths.me],
  ["page 1", servicePaths.list],
  ["selective search", searchPath],
] as const;

interface Place {
  name: string;
  scene: Scene;
  tokens: readonly string[];
}

export async function million(stage: Stage): Promise<void> {
  title("million: a tenant of 1 000 000 users against one of 10 000 in the same tables");
  const scene = await stage.scene("million");
  const [small, large] = await createTenants(scene.owner, ["small", "large"]);
  if (small === undefined || large === undefined) throw new Error("the tenants were not made");
  await addUsers(scene.owner, [small], homeUsersOf(stage));
  await timed(() => addUsers(scene.owner, [large], stage.pick(millionUsers, millionUsers / 10, 2_000)));
  const [few, many] = [
    await place(stage, scene, small, "10 000"),
    await place(stage, scene, large, "1 000 000"),
  ];
  await compare(stage, few, many, "among 1 000 000 against 10 000", 1.5);
  await scene.service.stop();
}

export async function hundred(stage: Stage): Promise<void> {
  title("hundred: one of 100 tenants of 10 000 users each against one alone in its tables");
  const home = await homeOf(stage);
  const scene = await stage.scene("hundred");
  const names = Array.from({ length: tenantsInHundred }, (_, index) => `tenant-${index}`);
  const tenants = await createTenants(scene.owner, names);
  await timed(() => addUsers(scene.owner, tenants, stage.pick(10_000, 1_000, 50)));
  const tenant = tenants[oneOfHundred];
  if (tenant === undefined) throw new Error("the tenants were not made");
  const alone = { name: "alone", scene: home, tokens: home.tokens };
  await compare(
    stage,
    alone,
    await place(stage, scene, tenant, "one of 100"),
    "one of 100 tenants against one alone",
    1.3,
  );
  await scene.service.stop();
}

async function place(stage: Stage, scene: Scene, tenant: Tenant, name: string): Promise<Place> {
  const tokens = await tokensOf(stage, scene.url, servicePaths.login, tenant.subdomain);
  await warmUp(stage, scene.url, [servicePaths.me, servicePaths.list, searchPath], tokens);
  return { name, scene, tokens };
}

async function timed(fill: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  await fill();
  say(`(filled in ${Math.round((performance.now() - startedAt) / 1000)} s)`);
}

async function compare(stage: Stage, base: Place, grown: Place, words: string, bound: number): Promise<void> {
  for (const { scene, tokens } of [base, grown]) await assertFound(scene, tokens);
  const plan = {
    postgresId: stage.postgresId,
    rounds: stage.rounds,
    seconds: Math.ceil(stage.roundSeconds / 2),
  };
  for (const [what, path] of requests) {
    const side = ({ name, scene, tokens }: Place): Side => ({
      name,
      processId: scene.service.processId,
      load: getting(stage, scene.url, path, tokens),
    });
    const [before = [], after = []] = await inTurn([side(base), side(grown)], plan);
    table([
      [`${what}, ${base.name}`, before],
      [`${what}, ${grown.name}`, after],
    ]);
    judgeGrowth(`${what}, ${words}`, before, after, bound);
  }
}

function judgeGrowth(claim: string, before: Sample[], after: Sample[], bound: number): void {
  const common = { sense: "at most", bound, unit: "×" } as const;
  judge({ claim: `${claim}, CPU`, measured: ratio(after, before, cpuOf), ...common });
  judge({ claim: `${claim}, p50`, measured: ratio(after, before, ({ p50Ms }) => p50Ms), ...common });
}

/** A search that finds nothing, or everything, would prove nothing. */
async function assertFound({ url }: Scene, [token]: readonly string[]): Promise<void> {
  const response = await fetch(`${url}${searchPath}`, { headers: { authorization: `Bearer ${token}` } });
  const { total } = (await response.json()) as { total: number };
  if (total !== rareNameUsers) throw new Error(`the search finds ${total} users, not ${rareNameUsers}`);
}
