// Receives notifications: each is verified, parsed and stored before it is answered. Notifications of one
// tenant that arrive while a batch is being written form the next batch. So under load many share a
// transaction and the lock on the tenant's audit log, and no timer delays them.
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
import { type KnownState, racedCode, readStatement, writeStatement } from "./inbox-statements.ts";
import { currentContext } from "../shared/tracing.ts";
import { countPayments } from "./payment-metrics.ts";
import { limitUnsigned } from "./limit-unsigned.ts";

const attemptsMax = 8;
/** The caller of a batch, which may contain the notifications of several requests. */
const caller = Caller.system("payments");
/**
 * A batch costs as much as ten notifications, so collecting it for some turns of the event loop pays. A turn
 * takes well below a millisecond.
 */
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
 * Stores a notification and applies it to its payment.
 * @throws BadRequest, Invalid (from the adapter), Conflict `notification_differs` when the id was used with
 * other content, TooManyRequests for too many unsigned ones
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
  // A notification without effect belongs to no tenant.
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

/**
 * The entry changes nothing, so it need not be in the batch's transaction. Repeated conflicts are summarised.
 */
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

/**
 * Resolves when the batch is committed. Decides again when another process was faster.
 * @throws Unavailable after `triesMax` attempts
 */
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
  for (let tried = 0; tried < attemptsMax; tried++) {
    const known = await database.readOne<KnownState>(platform, readStatement(subdomain, asked));
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
