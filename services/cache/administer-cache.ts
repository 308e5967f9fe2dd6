// Administration: each operation asks every node for its part. A node that does not answer is left out; what it keeps
// cannot be told to anybody without the database's word for it.
import type { AuditChanges } from "../shared/audit-changes.ts";
import type { Call } from "../shared/bus/bus.ts";
import { Invalid } from "../shared/errors.ts";
import type { ParamsOf, ValueOf } from "../shared/params/types.ts";
import { ownTenant, administeredScope } from "../shared/administered-scope.ts";
import { answerCharsMax, type cacheContract, sampledMax } from "./cache.contract.ts";
import { storeOf } from "./store-of.ts";

type Contract = typeof cacheContract;
type ResultOf<K extends keyof Contract> = Contract[K] extends { result: infer R } ? ValueOf<R> : never;
type Reached = { tenant_id: number | null };

/** Within this a node that works answers; an administrator does not wait longer for one that does not. */
export const nodeMsMax = 2_000;

/** A superadmin's reach is every tenant: null. */
export function reachedTenant(call: Call<unknown>): Reached {
  const reach = administeredScope(call.caller);
  return { tenant_id: reach === "platform" ? null : reach.tenantId };
}

export async function stats(call: Call<unknown>): Promise<ResultOf<"cache.stats">> {
  const parts = await call.busEach("cache.node_stats", reachedTenant(call), nodeMsMax);
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

export async function cleanup(call: Call<unknown>): Promise<ResultOf<"cache.cleanup">> {
  const parts = await call.busEach("cache.node_cleanup", reachedTenant(call), nodeMsMax);
  const sum = (name: keyof (typeof parts)[number]) => parts.reduce((total, part) => total + part[name], 0);
  const cleaned = { removed: sum("removed"), remaining: sum("remaining"), bytes_freed: sum("bytes_freed") };
  await record(call, "cache.cleanup", cleaned);
  return cleaned;
}

type Invalidate = Call<ParamsOf<Contract["cache.invalidate"]>>;

export async function invalidate(call: Invalidate): Promise<ResultOf<"cache.invalidate">> {
  const { patient_id: patientId, all } = call.params;
  if ((typeof patientId === "number") === (all === true))
    throw Invalid.body("patient_id", "give either patient_id or all: true");
  const asked = { ...reachedTenant(call), patient_id: patientId ?? null };
  const parts = await call.busEach("cache.node_invalidate", asked, nodeMsMax);
  const invalidated = parts.reduce((total, part) => total + part.invalidated, 0);
  await record(call, "cache.invalidate", {
    ...(all === true ? { all } : { patient_id: patientId }),
    invalidated,
  });
  return { invalidated };
}

/** In the caller's own audit log; an operator's care of the cache is in the node's log only. */
export async function record(call: Call<unknown>, action: string, changes: AuditChanges): Promise<void> {
  const tenantId = ownTenant(call.caller);
  if (tenantId !== undefined) await call.db.recordRead(call.caller, { tenantId, action, changes });
}

/** What each node does for the operations above. */
export const administer = {
  "cache.node_stats": async ({ runtime, params }: Call<Reached>) =>
    storeOf(runtime).stats(params.tenant_id ?? undefined),
  "cache.node_cleanup": async ({ runtime, params }: Call<Reached>) =>
    storeOf(runtime).cleanup(params.tenant_id ?? undefined),
  "cache.node_invalidate": async ({ runtime, params }: Call<Reached & { patient_id: number | null }>) => ({
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
