// The walk of a rotation: tenant by tenant, table by table, batch by batch, until no row names an old key; then the old
// keys end. It walks twice: once through everything, and once more after every process must have let go of the old keys,
// for what was sealed with them meanwhile. All it knows is in the database, so whoever takes over goes on where it stood.
import type { Runtime } from "../../host/process/runtime.ts";
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import { ServiceError } from "../shared/errors.ts";
import { SealBroken } from "../shared/sealing/seal-broken.ts";
import { TenantKeys } from "../shared/sealing/tenant-keys.ts";
import { BatchSize } from "./batch-size.ts";
import { finishRotation } from "./finish-rotation.ts";
import { retireDataKeys } from "./retire-keys.ts";
import { leaseRenewed, letGoSeconds } from "./rotation-times.ts";
import type { RotationTroubles } from "./rotation-troubles.ts";
import { sealedPlaces } from "./sealed-columns.ts";
import { readKeys } from "./tenant-keys.ts";
import { walkBatch } from "./walk-batch.ts";

/** Where nothing was to be sealed a moment ago. */
const looksMax = 2_000;
const looksMin = 100;
/** Below full pace: what a step takes is what a request may have to wait for, in this process and for PostgreSQL's. */
const stepMsAim = 1;
const stagesAtOnce = 50;
const renewEveryMs = 1_000;
/** How long the tenant's keys, and where it stands, are taken from memory. */
const stretchMsMax = 1_000;

export interface Walk {
  rotationId: number;
  walker: string;
  runtime: Runtime;
  /** Gives requests their share of the time. @param workedMs what the last step took */
  rest(workedMs: number): Promise<void>;
  stopped(): boolean;
  troubles: RotationTroubles;
}

interface Stage {
  tenant_id: number;
  pass: 1 | 2;
  place: number;
  after_id: number;
  /** Whether every process has let go of the keys from before the rotation. */
  settled: boolean;
}

/** @returns "done" when the rotation is finished, "later" when it must wait or another walks */
export async function walk(of: Walk): Promise<"done" | "later"> {
  const msAim = of.runtime.config.rotationPacePercent < 100 ? stepMsAim : undefined;
  const sizes = sealedPlaces.map(() => new BatchSize(msAim));
  while (!of.stopped()) {
    const stages = await nextStages(of);
    if (stages.length === 0)
      return (await finishRotation(of.runtime, of.rotationId, of.walker)) ? "done" : "later";
    for (const stage of stages) {
      if (of.stopped() || (stage.pass === 2 && !stage.settled)) return "later";
      if (!(await tryStretch(of, stage, sizes))) return "later";
    }
  }
  return "later";
}

/** What is wrong with one tenant holds up that one alone. @returns false when the lease was lost */
async function tryStretch(of: Walk, stage: Stage, sizes: readonly BatchSize[]): Promise<boolean> {
  const { tenant_id: tenantId } = stage;
  try {
    const held = await stretch(of, stage, sizes);
    of.troubles.wentWell(tenantId);
    return held;
  } catch (error) {
    // What is no answer of the server's or of ours concerns everybody: the database is away.
    const ours = error instanceof ServiceError || error instanceof SealBroken;
    if (!ours && !(error instanceof Error && "severity" in error)) throw error;
    of.runtime.log.warn({ tenantId, err: error }, "the key rotation leaves a tenant for later");
    if (!of.troubles.failed(tenantId)) return true;
    // Nothing of it is lost: its old keys stay, and the next rotation tries again.
    of.runtime.log.error({ tenantId }, "the key rotation gives a tenant up: its old keys stay");
    return move(of, tenantId, performance.now(), { pass: 3, place: 0, afterId: 0 });
  }
}

/** Some at a time: each look passes over all that is done already. */
function nextStages({ rotationId, runtime, troubles }: Walk): Promise<Stage[]> {
  return runtime.database.read<Stage>(platform, {
    name: "crypto.next_stages",
    text: `select t.tenant_id, t.pass, t.place, t.after_id,
        coalesce(r.seen_at < now() - make_interval(secs => $2), false) as settled
      from rotation_tenants t join rotations r on r.id = t.rotation_id
      where t.rotation_id = $1 and t.pass < 3 and t.tenant_id <> all($3::integer[])
      order by t.pass, t.tenant_id limit ${stagesAtOnce}`,
    values: [rotationId, letGoSeconds(runtime.config), troubles.resting()],
  });
}

/**
 * Steps through a tenant's places with the same keys, until its pass is over or they have to be read anew.
 * @returns false when the lease was lost
 */
async function stretch(of: Walk, stage: Stage, sizes: readonly BatchSize[]): Promise<boolean> {
  const { runtime, rotationId, walker } = of;
  const { tenant_id: tenantId, pass } = stage;
  const beganAt = performance.now();
  const keys = await keysOf(runtime, tenantId);
  let { place: at, after_id: afterId } = stage;
  let looks = looksMin;
  for (let startedAt = beganAt; ; startedAt = performance.now()) {
    const [place, size] = [sealedPlaces[at], sizes[at]];
    if (place === undefined || size === undefined) {
      const held = await endOfPass(of, stage, beganAt);
      await of.rest(performance.now() - startedAt);
      return held;
    }
    const cursor = { rotationId, tenantId, walker, at, place, afterId };
    const rowsMax = size.next;
    const bounds = { rowsMax, looksMax: Math.max(rowsMax, looks) };
    const { held, rows, bytes, next } = await walkBatch(runtime.database, keys, cursor, bounds);
    if (!held) return false;
    size.learn(rows, bytes, performance.now() - startedAt);
    looks = rows === 0 ? looksMax : looksMin;
    if (next === undefined) [at, afterId] = [at + 1, 0];
    else afterId = next;
    await of.rest(performance.now() - startedAt);
    // Places without a row to seal are not written down one by one.
    if (of.stopped() || performance.now() - beganAt > stretchMsMax)
      return move(of, tenantId, beganAt, { pass, place: at, afterId });
  }
}

async function keysOf(runtime: Runtime, tenantId: number): Promise<TenantKeys> {
  return new TenantKeys(tenantId, await readKeys(runtime, tenantId), () => ({ seals: 0 }));
}

/** @returns false when the lease was lost */
async function endOfPass(of: Walk, { tenant_id: tenantId, pass }: Stage, beganAt: number): Promise<boolean> {
  const beginning = { place: 0, afterId: 0 };
  if (pass === 1) return move(of, tenantId, beganAt, { pass: 2, ...beginning });
  const { database, config, log } = of.runtime;
  const caller = Caller.system("crypto");
  const retired = await holding(of, () => retireDataKeys(database, caller, tenantId, letGoSeconds(config)));
  // What still names an old key was written while the second pass was elsewhere: walk again.
  const goesOn = !retired && !of.troubles.fruitless(tenantId);
  if (!retired && !goesOn) log.warn({ tenantId }, "rows name an old key after the rotation: it stays");
  return move(of, tenantId, beganAt, { pass: goesOn ? 2 : 3, ...beginning });
}

/** Renews the lease meanwhile: to look through millions of rows takes longer than it lasts. */
async function holding<T>({ runtime, rotationId, walker }: Walk, work: () => Promise<T>): Promise<T> {
  const renew = () =>
    runtime.database.write(platform, Caller.system("crypto"), {
      name: "crypto.renew_lease",
      text: `update rotations set ${leaseRenewed}
        where id = $1 and leased_by = $2::uuid and state = 'running'`,
      values: [rotationId, walker],
    });
  const beat = setInterval(() => void renew().catch(() => undefined), renewEveryMs);
  try {
    return await work();
  } finally {
    clearInterval(beat);
  }
}

/**
 * Writes down how far a tenant is and what the stretch took, and renews the lease. Its commit need not wait for the
 * disk, as a batch's need not.
 * @returns false when the lease was lost: nothing was written
 */
async function move(
  { rotationId, runtime, walker }: Walk,
  tenantId: number,
  beganAt: number,
  to: { pass: 1 | 2 | 3; place: number; afterId: number },
): Promise<boolean> {
  const walkedMs = Math.round(performance.now() - beganAt);
  const moved = await runtime.database.writeOne<{ held: boolean }>(platform, Caller.system("crypto"), {
    name: "crypto.move_stage",
    text: `with held as (
        update rotations set ${leaseRenewed}, walked_ms = walked_ms + $7
        where id = $1 and leased_by = $2::uuid and state = 'running' returning id
      ), moved as (
        update rotation_tenants set pass = $4, place = $5, after_id = $6
        where rotation_id = $1 and tenant_id = $3 and exists (select from held)
      ) select exists (select from held) as held, set_config('synchronous_commit', 'off', true)`,
    values: [rotationId, walker, tenantId, to.pass, to.place, to.afterId, walkedMs],
  });
  return moved?.held === true;
}
