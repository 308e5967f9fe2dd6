// The administration of the cache. Each operation calls every node and combines the answers. A node that does not
// answer is left out. That is safe, because readers compare every cached value with the database.
import type { AuditChanges } from "../shared/audit-changes.ts";
import type { Call } from "../shared/bus/bus.ts";
import { Invalid } from "../shared/errors.ts";
import type { ParamsOf, ValueOf } from "../shared/params/types.ts";
import { ownTenant, administeredScope } from "../shared/administered-scope.ts";
import { answerCharsMax, type cacheContract, sampledMax } from "./cache.contract.ts";
import { storeOf } from "./store-of.ts";

type Contract = typeof cacheContract;
type ResultOf<K extends keyof Contract> = Contract[K] extends { result: infer R } ? ValueOf<R> : never;
type TenantScope = { tenant_id: number | null };

/**
 * Timeout per node. A healthy node answers within it; an administrator does not wait longer for one that does
 * not.
 */
export const nodeMsMax = 2_000;

/** The tenant that the caller administers; null for a superadmin, who administers all. */
export function administeredTenant(call: Call<unknown>): TenantScope {
  const scope = administeredScope(call.caller);
  return { tenant_id: scope === "platform" ? null : scope.tenantId };
}

/** Adds up the statistics of all nodes. */
export async function stats(call: Call<unknown>): Promise<ResultOf<"cache.stats">> {
  const parts = await call.busEach("cache.node_stats", administeredTenant(call), nodeMsMax);
  const sum = (name: keyof (typeof parts)[number]) => parts.reduce((total, part) => total + part[name], 0);
  const [hits, misses] = [sum("hits"), sum("misses")];
  return {
    entries: sum("entries"),
    expired: sum("expired"),
    bytes: sum("bytes"),
    hits,
    misses,
    hit_rate: hits + misses === 0 ? 0 : Math.round((hits / (hits + misses)) * 10_000) / 10_000,
    evictions: sum("evictions"),
    nodes: parts.length,
  };
}

/** Removes expired values on all nodes. */
export async function cleanup(call: Call<unknown>): Promise<ResultOf<"cache.cleanup">> {
  const parts = await call.busEach("cache.node_cleanup", administeredTenant(call), nodeMsMax);
  const sum = (name: keyof (typeof parts)[number]) => parts.reduce((total, part) => total + part[name], 0);
  const cleaned = { removed: sum("removed"), remaining: sum("remaining"), bytes_freed: sum("bytes_freed") };
  await record(call, "cache.cleanup", cleaned);
  return cleaned;
}

type Invalidate = Call<ParamsOf<Contract["cache.invalidate"]>>;

/**
 * Removes one patient's values, or all of the caller's scope, on all nodes.
 * @throws Invalid unless exactly one of `patient_id` and `all` is given
 */
export async function invalidate(call: Invalidate): Promise<ResultOf<"cache.invalidate">> {
  const { patient_id: patientId, all } = call.params;
  if ((typeof patientId === "number") === (all === true))
    throw Invalid.body("patient_id", "give either patient_id or all: true");
  const asked = { ...administeredTenant(call), patient_id: patientId ?? null };
  const parts = await call.busEach("cache.node_invalidate", asked, nodeMsMax);
  const invalidated = parts.reduce((total, part) => total + part.invalidated, 0);
  await record(call, "cache.invalidate", {
    ...(all === true ? { all } : { patient_id: patientId }),
    invalidated,
  });
  return { invalidated };
}

/**
 * Writes to the audit log of the caller's tenant. An operator has no tenant, so their operations are only in
 * the node's log.
 */
export async function record(call: Call<unknown>, action: string, changes: AuditChanges): Promise<void> {
  const tenantId = ownTenant(call.caller);
  if (tenantId !== undefined) await call.db.recordRead(call.caller, { tenantId, action, changes });
}

/** The parts of the operations above that each node executes. */
export const nodeHandlers = {
  "cache.node_stats": async ({ runtime, params }: Call<TenantScope>) =>
    storeOf(runtime).stats(params.tenant_id ?? undefined),
  "cache.node_cleanup": async ({ runtime, params }: Call<TenantScope>) =>
    storeOf(runtime).cleanup(params.tenant_id ?? undefined),
  "cache.node_invalidate": async ({
    runtime,
    params,
  }: Call<TenantScope & { patient_id: number | null }>) => ({
    invalidated: storeOf(runtime).invalidate(params.tenant_id ?? undefined, params.patient_id ?? undefined),
  }),
  "cache.node_sample": async ({ runtime, params }: Call<{ patient_id: number | null }>) =>
    storeOf(runtime)
      .sample(sampledMax, answerCharsMax, params.patient_id ?? undefined)
      .map(({ tenantId, patientId, ...rest }) => ({ tenant_id: tenantId, patient_id: patientId, ...rest })),
  "cache.node_warmup": async ({ runtime, params }: Call<ParamsOf<Contract["cache.node_warmup"]>>) => {
    params.patient_ids.forEach((patientId, at) => {
      const [tenantId, stamp, sealed] = [params.tenant_ids[at], params.stamps[at], params.sealed[at]];
      if (tenantId === undefined || stamp === undefined || sealed === undefined) return;
      storeOf(runtime).put(tenantId, patientId, "patient", { stamp, sealed });
    });
  },
};
