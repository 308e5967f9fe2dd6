// Decides a batch on what was read of it, one notification after the other as they came: which are new, what each makes
// of its payment, and all that is to be written for it. Decides alone: no clock, no database.
import type { Caller } from "../shared/caller.ts";
import { type AuditFacts, entryValues } from "../shared/database/change.ts";
import type { Notification, PaymentFacts } from "./adapter.ts";
import { type Known, type NotificationRow, toRow, toState, type Written } from "./inbox-statements.ts";
import { afterNotification, eventOfChange, isSeen, type PaymentState } from "./payment.rules.ts";

export interface Item {
  provider: string;
  notification: Notification;
  /** SHA-256 of the bytes, hex. */
  hash: string;
  caller: Caller;
}

export type Outcome = "taken" | "duplicate" | "conflict";

interface Seen {
  hash: string;
  state: string;
  tenantId: number | null;
}

interface Held {
  state: PaymentState;
  version: number;
  changed: boolean;
}

/** @returns one outcome per item, and what to write, undefined when nothing */
export function decideBatch(
  items: readonly Item[],
  known: Known,
): { outcomes: Outcome[]; written?: Written } {
  const batch = new Batch(known);
  const outcomes = items.map((item) => batch.take(item));
  const written = batch.written();
  return written === undefined ? { outcomes } : { outcomes, written };
}

class Batch {
  readonly #known: Known;
  readonly #seen = new Map<string, Seen>();
  readonly #payments = new Map<string, Held & { provider: string; paymentId: string }>();
  readonly #notifications = new Map<string, NotificationRow>();
  readonly #events: Written["events"][number][] = [];
  readonly #entries: object[] = [];

  constructor(known: Known) {
    this.#known = known;
    for (const { provider, id, hash, state, tenant_id: tenantId } of known.notifications ?? [])
      this.#seen.set(keyOf(provider, id), { hash, state, tenantId });
    for (const row of known.payments ?? []) {
      const { provider, payment_id: paymentId, version } = row;
      const held = { provider, paymentId, state: toState(row), version, changed: false };
      this.#payments.set(keyOf(provider, paymentId), held);
    }
  }

  take(item: Item): Outcome {
    const { provider, notification, hash } = item;
    const key = keyOf(provider, notification.id);
    const before = this.#seen.get(key);
    // What nobody had signed must not stand in the way of what somebody did.
    const isNew = before === undefined || (before.state === "unverified" && notification.verified);
    if (isNew) {
      const row = this.#toRow(item);
      this.#notifications.set(key, row);
      this.#seen.set(key, { hash, state: row.state, tenantId: row.tenant_id });
      return "taken";
    }
    if (before.hash === hash) return "duplicate";
    this.#recordConflict(item, before.tenantId);
    return "conflict";
  }

  written(): Written | undefined {
    const payments = [...this.#payments.values()].filter(({ changed }) => changed);
    const notifications = [...this.#notifications.values()];
    if (notifications.length + this.#entries.length === 0) return undefined;
    const tenantId = this.#known.tenant?.id ?? 0;
    return {
      notifications,
      payments: payments.map(({ provider, paymentId, state, version }) => ({
        ...toRow(provider, paymentId, state, version + 1),
        tenant_id: tenantId,
      })),
      events: this.#events,
      entries: this.#entries,
    };
  }

  #toRow(item: Item): NotificationRow {
    const { provider, notification, hash } = item;
    const { payment, verified, id, type } = notification;
    const row = { provider, notification_id: id, type, body_hash: hash };
    const about = {
      payment_id: payment?.paymentId ?? null,
      occurred_at: payment === undefined ? null : new Date(payment.occurredMs).toISOString(),
    };
    const { tenant } = this.#known;
    const idle = (state: string, tenantId: number | null) => ({
      ...row,
      ...about,
      state,
      tenant_id: tenantId,
    });
    if (!verified) return idle("unverified", null);
    if (payment === undefined) return idle("ignored", null);
    if (tenant === null) return idle("unknown_tenant", null);
    if (!tenant.active) return idle("inactive_tenant", tenant.id);
    return { ...row, ...about, state: this.#apply(item, payment, tenant.id), tenant_id: tenant.id };
  }

  /** @returns the notification's state */
  #apply(item: Item, payment: PaymentFacts, tenantId: number): "applied" | "stale" {
    const { provider, notification } = item;
    const { paymentId, tenant: _tenant, ...facts } = payment;
    const key = keyOf(provider, paymentId);
    const held = this.#payments.get(key);
    const before = held?.state;
    const after = afterNotification(before, { ...facts, notificationId: notification.id });
    if (before === after) return "stale";
    this.#payments.set(key, {
      provider,
      paymentId,
      state: after,
      version: held?.version ?? 0,
      changed: true,
    });
    if (!isSeen(before, after)) return "stale";
    const { status, amount, currency } = after;
    const change = { provider, from: before?.status ?? null, status, amount, currency };
    this.#record(item, {
      tenantId,
      action: "payment.update",
      target: { type: "payment", id: paymentId },
      changes: { ...change, notification_id: notification.id },
    });
    const kind = eventOfChange(before, after);
    if (kind !== undefined) {
      const occurredAt = new Date(after.occurredMs).toISOString();
      const payload = { payment_id: paymentId, ...change, occurred_at: occurredAt };
      this.#events.push({ tenant_id: tenantId, kind, payload: JSON.stringify(payload) });
    }
    return "applied";
  }

  /** In the log of whom the first one was for; of the platform when it was for nobody. */
  #recordConflict(item: Item, firstTenantId: number | null): void {
    const { provider, notification } = item;
    const tenantId = firstTenantId ?? this.#known.platform_id;
    if (tenantId === null) return;
    this.#record(item, {
      tenantId,
      action: "payment.conflict",
      outcome: "denied",
      target: { type: "payment_notification", id: notification.id },
      changes: { provider },
    });
  }

  #record({ caller }: Item, facts: AuditFacts): void {
    const [user_id, action, target_type, target_id, outcome, changes, ip, user_agent, request_id] =
      entryValues(facts, caller);
    const { tenantId: tenant_id } = facts;
    const entry = { tenant_id, user_id, action, target_type, target_id, outcome, changes };
    this.#entries.push({ ...entry, ip, user_agent, request_id });
  }
}

const keyOf = (provider: string, id: string) => `${provider} ${id}`;
