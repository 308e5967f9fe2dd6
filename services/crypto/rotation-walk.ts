// The walk of a rotation: tenant by tenant, table by table, batch by batch, until no row names an old key; then the old
// keys end. It walks twice: once through everything, and once more after every process must have let go of the old keys,
// for what was sealed with them meanwhile. All it knows is in the database, so whoever takes over goes on where it stood.
import type { Runtime } from "../shared/runtime.ts";
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import { TenantKeys } from "../shared/sealing/tenant-keys.ts";
import { finishRotation } from "./finish-rotation.ts";
import { retireDataKeys } from "./retire-keys.ts";
import { sealedPlaces } from "./sealed-columns.ts";
import { readKeys } from "./tenant-keys.ts";
import { walkBatch } from "./walk-batch.ts";

/** A request that took its keys at the last moment has sealed and written within this; a later one is refused (503). */
export const requestSecondsMax = 3;
const batchRowsMin = 2;
const batchRowsMax = 2_000;
const batchBytesMax = 4_000_000;
const rowsAtFirst = 100;
/** Below full pace: what a step takes is what a request may have to wait for, in this process and for PostgreSQL's. */
const stepMsAim = 1;
const stagesAtOnce = 50;
/** How long the tenant's keys, and where it stands, are taken from memory. */
const stretchMsMax = 1_000;

export interface Walk {
  rotationId: number;
  walker: string;
  runtime: Runtime;
  /** Gives requests their share of the time. @param workedMs what the last step took */
  rest(workedMs: number): Promise<void>;
  stopped(): boolean;
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
  const sizes = new BatchSize(of.runtime.config.rotationPacePercent < 100 ? stepMsAim : undefined);
  while (!of.stopped()) {
    const stages = await nextStages(of);
    if (stages.length === 0)
      return (await finishRotation(of.runtime, of.rotationId, of.walker)) ? "done" : "later";
    for (const stage of stages) {
      if (of.stopped() || (stage.pass === 2 && !stage.settled)) return "later";
      if (!(await stretch(of, stage, sizes))) return "later";
    }
  }
  return "later";
}

/** Some at a time: each look passes over all that is done already. */
function nextStages({ rotationId, runtime }: Walk): Promise<Stage[]> {
  return runtime.database.read<Stage>(platform, {
    name: "crypto.next_stages",
    text: `select t.tenant_id, t.pass, t.place, t.after_id,
        r.started_at < now() - make_interval(secs => $2) as settled
      from rotation_tenants t join rotations r on r.id = t.rotation_id
      where t.rotation_id = $1 and t.pass < 3 order by t.pass, t.tenant_id limit ${stagesAtOnce}`,
    values: [rotationId, runtime.config.keysHeldSeconds + requestSecondsMax],
  });
}

/**
 * Steps through a tenant's places with the same keys, until its pass is over or they have to be read anew.
 * @returns false when the lease was lost
 */
async function stretch(of: Walk, stage: Stage, sizes: BatchSize): Promise<boolean> {
  const { runtime, rotationId, walker } = of;
  const { tenant_id: tenantId, pass } = stage;
  const beganAt = performance.now();
  const keys = await keysOf(runtime, tenantId);
  let { place: at, after_id: afterId } = stage;
  for (let startedAt = beganAt; ; startedAt = performance.now()) {
    const place = sealedPlaces[at];
    if (place === undefined) {
      const held = await endOfPass(of, stage);
      await of.rest(performance.now() - startedAt);
      return held;
    }
    const cursor = { rotationId, tenantId, walker, at, place, afterId };
    const rowsMax = sizes.next;
    const batchAt = performance.now();
    const { held, rows, bytes, lastId } = await walkBatch(runtime.database, keys, cursor, rowsMax);
    if (!held) return false;
    sizes.learn(rows, bytes, performance.now() - batchAt);
    if (lastId === undefined || rows < rowsMax) [at, afterId] = [at + 1, 0];
    else afterId = lastId;
    await of.rest(performance.now() - startedAt);
    // Places without a row to seal are not written down one by one.
    if (of.stopped() || performance.now() - beganAt > stretchMsMax)
      return move(of, tenantId, { pass, place: at, afterId });
  }
}

async function keysOf(runtime: Runtime, tenantId: number): Promise<TenantKeys> {
  return new TenantKeys(tenantId, await readKeys(runtime, tenantId), () => ({ seals: 0 }));
}

/** @returns false when the lease was lost */
async function endOfPass(of: Walk, { tenant_id: tenantId, pass }: Stage): Promise<boolean> {
  const beginning = { place: 0, afterId: 0 };
  if (pass === 1) return move(of, tenantId, { pass: 2, ...beginning });
  const { database, config } = of.runtime;
  const caller = Caller.system("crypto");
  const heldSeconds = config.keysHeldSeconds + requestSecondsMax;
  const retired = await retireDataKeys(database, caller, tenantId, heldSeconds);
  // What still names an old key was written while the second pass was elsewhere: walk again.
  return move(of, tenantId, { pass: retired ? 3 : 2, ...beginning });
}

/**
 * Writes down how far a tenant is, and renews the lease. Its commit need not wait for the disk, as a batch's need not.
 * @returns false when the lease was lost: nothing was written
 */
async function move(
  { rotationId, runtime, walker }: Walk,
  tenantId: number,
  to: { pass: 1 | 2 | 3; place: number; afterId: number },
): Promise<boolean> {
  const moved = await runtime.database.readOne<{ held: boolean }>(platform, {
    name: "crypto.move_stage",
    text: `with held as (
        update rotations set leased_until = now() + interval '5 seconds'
        where id = $1 and leased_by = $2::uuid and state = 'running' returning id
      ), moved as (
        update rotation_tenants set pass = $4, place = $5, after_id = $6
        where rotation_id = $1 and tenant_id = $3 and exists (select from held)
      ) select exists (select from held) as held, set_config('synchronous_commit', 'off', true)`,
    values: [rotationId, walker, tenantId, to.pass, to.place, to.afterId],
  });
  return moved?.held === true;
}

/** As many rows as make a batch of a few MB (a row may be 100 bytes or 100 kB) and, if one is given, of a time. */
class BatchSize {
  next = rowsAtFirst;
  readonly #msAim: number | undefined;

  constructor(msAim: number | undefined) {
    this.#msAim = msAim;
  }

  learn(rows: number, bytes: number, tookMs: number): void {
    if (rows === 0) return;
    const fitting = Math.floor(batchBytesMax / Math.max(1, bytes / rows));
    const inTime = this.#msAim === undefined ? batchRowsMax : Math.ceil((rows * this.#msAim) / tookMs);
    this.next = Math.max(batchRowsMin, Math.min(batchRowsMax, this.next * 4, fitting, inTime));
  }
}
