// Executes a rotation tenant by tenant, table by table, batch by batch, until no row uses an old key; then
// the old keys are destroyed. It makes two passes per tenant: one over everything, and a second one when no
// process can hold the old keys any more, for rows that were sealed with them meanwhile. All progress is in
// the database, so another worker can continue at any point.
import type { Runtime } from "../../host/process/runtime.ts";
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import { ServiceError } from "../shared/errors.ts";
import { SealBroken } from "../shared/sealing/seal-broken.ts";
import { TenantKeys } from "../shared/sealing/tenant-keys.ts";
import { BatchSize } from "./batch-size.ts";
import { finishRotation } from "./finish-rotation.ts";
import { retireDataKeys } from "./retire-keys.ts";
import { renewLeaseSql, keyReleaseSeconds } from "./rotation-times.ts";
import type { TenantBackoff } from "./tenant-backoff.ts";
import { sealedPlaces } from "./sealed-columns.ts";
import { readKeys } from "./tenant-keys.ts";
import { resealBatch } from "./reseal-batch.ts";
import type { RowOf } from "../shared/database/row.ts";

/** Rows scanned per statement when the last one found nothing to reseal. */
const scannedMax = 2_000;
const scannedMin = 100;
/**
 * Duration of a step when the pace is below 100 %. A request may have to wait for a step, in this process and
 * in PostgreSQL.
 */
const stepMsAim = 1;
const stagesPerRead = 50;
const renewEveryMs = 1_000;
/** The tenant's keys and position are used from memory for at most this long. */
const keysUsedMsMax = 1_000;

/** One run of a worker that holds the lease. */
export interface RotationRun {
  rotationId: number;
  workerId: string;
  runtime: Runtime;
  /** Pauses to leave the configured share of time to requests. @param workedMs duration of the last step */
  throttle(workedMs: number): Promise<void>;
  stopped(): boolean;
  backoff: TenantBackoff;
}

type Stage = RowOf<
  "rotation_tenants",
  "tenant_id" | "pass" | "place" | "after_id",
  {
    pass: 1 | 2;
    /** Whether no process can hold the keys from before the rotation any more. */
    settled: boolean;
  }
>;

/**
 * Runs until there is nothing to do now.
 * @returns "done" when the rotation is finished, "later" when it must wait or another worker holds the lease
 */
export async function runRotation(run: RotationRun): Promise<"done" | "later"> {
  const msAim = run.runtime.config.rotationPacePercent < 100 ? stepMsAim : undefined;
  const sizes = sealedPlaces.map(() => new BatchSize(msAim));
  while (!run.stopped()) {
    const stages = await nextStages(run);
    if (stages.length === 0)
      return (await finishRotation(run.runtime, run.rotationId, run.workerId)) ? "done" : "later";
    for (const stage of stages) {
      if (run.stopped() || (stage.pass === 2 && !stage.settled)) return "later";
      if (!(await tryResealTenant(run, stage, sizes))) return "later";
    }
  }
  return "later";
}

/**
 * Reseals a part of the tenant. A tenant's failure delays only that tenant.
 * @returns false when the lease was lost
 */
async function tryResealTenant(
  run: RotationRun,
  stage: Stage,
  sizes: readonly BatchSize[],
): Promise<boolean> {
  const { tenant_id: tenantId } = stage;
  try {
    const held = await resealTenant(run, stage, sizes);
    run.backoff.succeeded(tenantId);
    return held;
  } catch (error) {
    // Any other error concerns all tenants, for example when the database is unavailable.
    const ours = error instanceof ServiceError || error instanceof SealBroken;
    if (!ours && !(error instanceof Error && "severity" in error)) throw error;
    run.runtime.log.warn({ tenantId, err: error }, "the key rotation leaves a tenant for later");
    if (!run.backoff.failed(tenantId)) return true;
    // No data is lost: the old keys stay, and the next rotation tries again.
    run.runtime.log.error({ tenantId }, "the key rotation gives a tenant up: its old keys stay");
    return saveProgress(run, tenantId, performance.now(), { pass: 3, place: 0, afterId: 0 });
  }
}

/** Reads several tenants at a time, because each query scans over all finished ones. */
function nextStages({ rotationId, runtime, backoff }: RotationRun): Promise<Stage[]> {
  return runtime.database.read<Stage>(platform, {
    name: "crypto.next_stages",
    text: `select t.tenant_id, t.pass, t.place, t.after_id,
        coalesce(r.seen_at < now() - make_interval(secs => $2), false) as settled
      from rotation_tenants t join rotations r on r.id = t.rotation_id
      where t.rotation_id = $1 and t.pass < 3 and t.tenant_id <> all($3::integer[])
      order by t.pass, t.tenant_id limit ${stagesPerRead}`,
    values: [rotationId, keyReleaseSeconds(runtime.config), backoff.pausedTenants()],
  });
}

/**
 * Reseals batches of one tenant with the same keys until its pass ends or the keys have to be read again.
 * @returns false when the lease was lost
 */
async function resealTenant(run: RotationRun, stage: Stage, sizes: readonly BatchSize[]): Promise<boolean> {
  const { runtime, rotationId, workerId } = run;
  const { tenant_id: tenantId, pass } = stage;
  const beganAt = performance.now();
  const keys = await currentKeysOf(runtime, tenantId);
  let { place: at, after_id: afterId } = stage;
  let scanned = scannedMin;
  for (let startedAt = beganAt; ; startedAt = performance.now()) {
    const [place, size] = [sealedPlaces[at], sizes[at]];
    if (place === undefined || size === undefined) {
      const held = await endOfPass(run, stage, beganAt);
      await run.throttle(performance.now() - startedAt);
      return held;
    }
    const cursor = { rotationId, tenantId, workerId, placeIndex: at, place, afterId };
    const rowsMax = size.next;
    const bounds = { rowsMax, scannedMax: Math.max(rowsMax, scanned) };
    const { hasLease, rows, bytes, nextAfterId } = await resealBatch(runtime.database, keys, cursor, bounds);
    if (!hasLease) return false;
    size.learn(rows, bytes, performance.now() - startedAt);
    scanned = rows === 0 ? scannedMax : scannedMin;
    if (nextAfterId === undefined) [at, afterId] = [at + 1, 0];
    else afterId = nextAfterId;
    await run.throttle(performance.now() - startedAt);
    // Progress is not saved after every place without a row to reseal.
    if (run.stopped() || performance.now() - beganAt > keysUsedMsMax)
      return saveProgress(run, tenantId, beganAt, { pass, place: at, afterId });
  }
}

async function currentKeysOf(runtime: Runtime, tenantId: number): Promise<TenantKeys> {
  return new TenantKeys(tenantId, await readKeys(runtime, tenantId), () => ({ seals: 0 }));
}

/** Ends a pass of a tenant. @returns false when the lease was lost */
async function endOfPass(
  run: RotationRun,
  { tenant_id: tenantId, pass }: Stage,
  beganAt: number,
): Promise<boolean> {
  const beginning = { place: 0, afterId: 0 };
  if (pass === 1) return saveProgress(run, tenantId, beganAt, { pass: 2, ...beginning });
  const { database, config, log } = run.runtime;
  const caller = Caller.system("crypto");
  const retired = await withRenewedLease(run, () =>
    retireDataKeys(database, caller, tenantId, keyReleaseSeconds(config)),
  );
  // Rows that still use an old key were written during the second pass: another pass is needed.
  const goesOn = !retired && !run.backoff.extraPassNeeded(tenantId);
  if (!retired && !goesOn) log.warn({ tenantId }, "rows name an old key after the rotation: it stays");
  return saveProgress(run, tenantId, beganAt, { pass: goesOn ? 2 : 3, ...beginning });
}

/**
 * Renews the lease while `work` runs, because counting millions of rows takes longer than the lease lasts.
 */
async function withRenewedLease<T>(
  { runtime, rotationId, workerId }: RotationRun,
  work: () => Promise<T>,
): Promise<T> {
  const renew = () =>
    runtime.database.write(platform, Caller.system("crypto"), {
      name: "crypto.renew_lease",
      text: `update rotations set ${renewLeaseSql}
        where id = $1 and leased_by = $2::uuid and state = 'running'`,
      values: [rotationId, workerId],
    });
  const beat = setInterval(() => void renew().catch(() => undefined), renewEveryMs);
  try {
    return await work();
  } finally {
    clearInterval(beat);
  }
}

/**
 * Saves the position of a tenant and the time spent, and renews the lease. Its commit need not wait for the
 * disk, like that of a batch.
 * @returns false when the lease was lost and nothing was written
 */
async function saveProgress(
  { rotationId, runtime, workerId }: RotationRun,
  tenantId: number,
  beganAt: number,
  to: { pass: 1 | 2 | 3; place: number; afterId: number },
): Promise<boolean> {
  const walkedMs = Math.round(performance.now() - beganAt);
  const moved = await runtime.database.writeOne<{ held: boolean; set_config: string }>(
    platform,
    Caller.system("crypto"),
    {
      name: "crypto.move_stage",
      text: `with held as (
        update rotations set ${renewLeaseSql}, walked_ms = walked_ms + $7
        where id = $1 and leased_by = $2::uuid and state = 'running' returning id
      ), moved as (
        update rotation_tenants set pass = $4, place = $5, after_id = $6
        where rotation_id = $1 and tenant_id = $3 and exists (select from held)
      ) select exists (select from held) as held, set_config('synchronous_commit', 'off', true)`,
      values: [rotationId, workerId, tenantId, to.pass, to.place, to.afterId, walkedMs],
    },
  );
  return moved?.held === true;
}
