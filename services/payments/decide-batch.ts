// Decides about a batch of notifications in the order of arrival, from the data that was read for it: which
// ones are new, how each changes its payment, and what has to be written. A pure decision without clock and
// database.
import type { AuditChanges } from "../shared/audit-changes.ts";
import canonicalize from "canonicalize";
import type { Caller } from "../shared/caller.ts";
import type { Notification, PaymentFacts } from "./adapter.ts";
import { type KnownState, type Line, toRow, toState, type BatchWrites } from "./inbox-statements.ts";
import { afterNotification, eventOfChange, isVisibleChange, type PaymentState } from "./payment.rules.ts";

/** A notification to decide about. */
export interface Item {
  provider: string;
  notification: Notification;
  /** SHA-256 of the bytes, in hex. */
  hash: string;
  caller: Caller;
  /** The `traceparent` of the request, if it is traced. */
  trace?: string | undefined;
}

/**
 * For a conflict: the tenant whose audit log records it, that of the first notification, or the platform
 * tenant.
 */
export type Outcome = "taken" | "duplicate" | { conflictIn: number | null };

interface KnownNotification {
  hash: string;
  state: string;
  tenantId: number | null;
}

interface KnownPayment {
  state: PaymentState;
  version: number;
  changed: boolean;
}

/** @returns one outcome per item, and what to write; undefined when nothing has to be written */
export function decideBatch(
  items: readonly Item[],
  known: KnownState,
): { outcomes: Outcome[]; written?: BatchWrites } {
  const batch = new Batch(known);
  const outcomes = items.map((item) => batch.take(item));
  const written = batch.written();
  return written === undefined ? { outcomes } : { outcomes, written };
}

class Batch {
  readonly #known: KnownState;
  readonly #notifications = new Map<string, KnownNotification>();
  readonly #payments = new Map<string, KnownPayment & { provider: string; paymentId: string }>();
  readonly #lines: Line[] = [];

  constructor(known: KnownState) {
    this.#known = known;
    for (const { provider, id, hash, state, tenant_id: tenantId } of known.notifications ?? [])
      this.#notifications.set(keyOf(provider, id), { hash, state, tenantId });
    for (const row of known.payments ?? []) {
      const { provider, payment_id: paymentId, version } = row;
      const held = { provider, paymentId, state: toState(row), version, changed: false };
      this.#payments.set(keyOf(provider, paymentId), held);
    }
  }

  take(item: Item): Outcome {
    const { provider, notification, hash } = item;
    const key = keyOf(provider, notification.id);
    const before = this.#notifications.get(key);
    // An unverified notification must not block a verified one with the same id.
    if (before === undefined || (before.state === "unverified" && notification.verified)) {
      const line = this.#lineOf(item);
      this.#lines.push(line);
      this.#notifications.set(key, { hash, state: line.state, tenantId: line.tenant_id });
      return "taken";
    }
    if (before.hash === hash) return "duplicate";
    return { conflictIn: before.tenantId ?? this.#known.platform_id };
  }

  written(): BatchWrites | undefined {
    if (this.#lines.length === 0) return undefined;
    const payments = [...this.#payments.values()].filter(({ changed }) => changed);
    const tenantId = this.#known.tenant?.id ?? 0;
    return {
      lines: this.#lines,
      payments: payments.map(({ provider, paymentId, state, version }) => ({
        ...toRow(provider, paymentId, state, version + 1),
        tenant_id: tenantId,
      })),
    };
  }

  #lineOf(item: Item): Line {
    const { provider, notification, hash } = item;
    const { payment, verified, id, type } = notification;
    const occurredAt = payment && new Date(payment.occurredMs).toISOString();
    const about = { payment_id: payment?.paymentId, occurred_at: occurredAt };
    const line = { provider, notification_id: id, type, body_hash: hash, ...about };
    const { tenant } = this.#known;
    if (!verified) return { ...line, state: "unverified", tenant_id: null };
    if (payment === undefined) return { ...line, state: "ignored", tenant_id: null };
    if (tenant === null) return { ...line, state: "unknown_tenant", tenant_id: null };
    if (!tenant.active) return { ...line, state: "inactive_tenant", tenant_id: tenant.id };
    const seen = this.#apply(item, payment);
    return { ...line, state: seen === undefined ? "stale" : "applied", tenant_id: tenant.id, ...seen };
  }

  /** @returns the audit entry and event of a visible change; undefined when the notification is stale */
  #apply(item: Item, payment: PaymentFacts): Partial<Line> | undefined {
    const { provider, notification, caller, trace } = item;
    const { paymentId, tenant: _tenant, ...reported } = payment;
    const key = keyOf(provider, paymentId);
    const held = this.#payments.get(key);
    const before = held?.state;
    const after = afterNotification(before, { ...reported, notificationId: notification.id });
    if (before === after) return undefined;
    this.#payments.set(key, {
      provider,
      paymentId,
      state: after,
      version: held?.version ?? 0,
      changed: true,
    });
    if (!isVisibleChange(before, after)) return undefined;
    const { status, amount, currency } = after;
    const change = { from: before?.status ?? null, status, amount, currency };
    const facts = {
      provider,
      payment_id: paymentId,
      ...change,
      occurred_at: new Date(after.occurredMs).toISOString(),
      notification_id: notification.id,
    };
    const kind = eventOfChange(before, after);
    const entry = entryOf(caller, paymentId, facts);
    return kind === undefined ? entry : { ...entry, kind, trace };
  }
}

/** The columns of an audit entry. It has no user, so it records the origin of the request. */
function entryOf(
  { facts: { ip, userAgent, requestId } }: Caller,
  paymentId: string,
  facts: AuditChanges,
): Partial<Line> {
  const target = { target_type: "payment", target_id: paymentId };
  const origin = { ip, user_agent: userAgent, request_id: requestId };
  return {
    action: "payment.update",
    ...target,
    outcome: "ok",
    facts: canonicalize(facts) ?? "{}",
    ...origin,
  };
}

const keyOf = (provider: string, id: string) => `${provider} ${id}`;
