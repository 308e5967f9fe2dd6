// Takes notifications in: verified, read, written down, and only then answered. What comes for one tenant while a batch
// of it is under way goes together with the next one, so that a transaction, and the tenant's place in the audit log, is
// shared by many under load and nothing waits for a clock.
import { createHash } from "node:crypto";
import type { Call } from "../shared/bus/bus.ts";
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import { errorCode } from "../shared/start-error.ts";
import { Conflict, Unavailable } from "../shared/errors.ts";
import { auditRefusal } from "../shared/limits/audit-refusal.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { bytesOf } from "../shared/raw-body.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { TenantBatches } from "../shared/tenant-batches.ts";
import type { ProviderAdapter } from "./adapter.ts";
import { decideBatch, type Item, type Outcome } from "./decide-batch.ts";
import { type Known, racedCode, readStatement, writeStatement } from "./inbox-statements.ts";
import { currentContext } from "../shared/tracing.ts";
import { countPayments } from "./payment-counters.ts";
import { limitUnsigned } from "./limit-unsigned.ts";

const triesMax = 8;
/** Of a batch, which may hold what several have sent. */
const caller = Caller.system("payments");
/** A batch costs what ten notifications cost: it is worth some turns of the event loop, well below a millisecond each. */
const gatherTurnsMax = 20;

const batchesOf = perRuntime(
  (runtime) =>
    new TenantBatches<Item, Outcome, string>((subdomain, items) => takeBatch(runtime, subdomain, items), {
      turnsMax: gatherTurnsMax,
    }),
);

interface Params {
  content: string;
  provider_signature?: string | null | undefined;
}

/**
 * @throws BadRequest, Invalid (the adapter's), Conflict: the same id came before with other bytes, TooManyRequests: nobody
 * vouches for it, and there are many of that kind
 */
export async function takeNotification(
  call: Call<Params>,
  adapter: ProviderAdapter,
): Promise<{ received: boolean; duplicate: boolean }> {
  const bytes = bytesOf(call.params);
  const delivery = { bytes, signature: call.params.provider_signature ?? undefined, nowMs: Date.now() };
  const notification = adapter.read(delivery, adapter.secretsOf(call.runtime.config));
  const hash = createHash("sha256").update(bytes).digest("hex");
  const { provider } = adapter;
  if (!notification.verified) await limitUnsigned(call, provider);
  // Of what acts on nothing, whose it would be does not matter.
  const subdomain = notification.verified ? (notification.payment?.tenant ?? "") : "";
  const trace = currentContext()?.span?.traceparent;
  const item: Item = { provider, notification, hash, caller: call.caller, trace };
  const outcome = await batchesOf(call.runtime).add(subdomain, item);
  if (outcome !== "taken")
    countPayments(call.runtime).notification(outcome === "duplicate" ? outcome : "conflict");
  if (typeof outcome === "object") {
    await recordConflict(call, item, outcome.conflictIn);
    throw new Conflict("notification_differs", "A notification with this id and another content came before");
  }
  return { received: true, duplicate: outcome === "duplicate" };
}

/** It changes nothing, so its entry need not be part of the batch. Whoever goes on contradicting themselves is summed up. */
async function recordConflict(call: Call<unknown>, item: Item, tenantId: number | null): Promise<void> {
  if (tenantId === null) return;
  const { provider, notification } = item;
  const target = { type: "payment_notification", id: notification.id };
  const facts = { tenantId, action: "payment.conflict", target, changes: { provider } };
  const refusal = { ...facts, outcome: "denied", byTarget: false } as const;
  await call.db.change(platform, call.caller, (change) =>
    auditRefusal(change, call.runtime, call.caller, refusal),
  );
}

/** Resolves when all of it is committed. */
async function takeBatch(
  runtime: Runtime,
  subdomain: string,
  items: readonly Item[],
): Promise<readonly Outcome[]> {
  const { database } = runtime;
  const asked = items.map(({ provider, notification: { id, payment } }) => ({
    provider,
    id,
    paymentId: payment?.paymentId ?? null,
  }));
  for (let tried = 0; tried < triesMax; tried++) {
    const known = await database.readOne<Known>(platform, readStatement(subdomain, asked));
    if (known === undefined) throw new Error("a select without a table answered no row");
    const { outcomes, written } = decideBatch(items, known);
    try {
      if (written === undefined) return outcomes;
      await database.write(platform, caller, writeStatement(written));
      countPayments(runtime).written(written);
      return outcomes;
    } catch (error) {
      if (errorCode(error) !== racedCode) throw error;
    }
  }
  throw new Unavailable("busy", "Others were quicker, again and again", 1);
}
