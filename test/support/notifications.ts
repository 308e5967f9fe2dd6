// Notifications as the providers would send them, signed by node:crypto alone: nothing of the service's own signing or
// canonical JSON is used.
import { createHash, createHmac } from "node:crypto";
import type { Item } from "../../services/payments/decide-batch.ts";
import type { Status } from "../../services/payments/payment.rules.ts";
import { Caller } from "../../services/shared/caller.ts";

export const cardSecret = "whsec-card-of-the-tests-0001";
export const walletSecret = "whsec-wallet-of-the-tests-01";
export const paymentSettings = { CARD_WEBHOOK_SECRETS: cardSecret, WALLET_WEBHOOK_SECRETS: walletSecret };

const hmac = (secret: string, text: string | Uint8Array) =>
  createHmac("sha256", secret).update(text).digest("hex");

export interface CardFacts {
  id: string;
  type?: string;
  /** Unix seconds. */
  created?: number;
  paymentId?: string;
  amount?: number;
  currency?: string;
  tenant?: string;
}

export function cardBody(facts: CardFacts): string {
  const { id, type = "payment.succeeded", created = 1_790_000_000, paymentId = `p-${id}` } = facts;
  const { amount = 1999, currency = "EUR", tenant = "demo" } = facts;
  return JSON.stringify({
    id,
    type,
    created,
    data: { object: { id: paymentId, amount, currency, metadata: { tenant } } },
  });
}

export const nowSeconds = () => Math.floor(Date.now() / 1000);

/** `Provider-Signature` of these bytes. */
export function cardSignature(
  body: string | Uint8Array,
  secret = cardSecret,
  t: number | string = nowSeconds(),
): string {
  const signed = Buffer.concat([Buffer.from(`${t}.`), Buffer.from(body)]);
  return `t=${t},v1=${hmac(secret, signed)}`;
}

export interface WalletFacts {
  id: string;
  type?: string;
  occurredAt?: string;
  paymentId?: string;
  amount?: string | number;
  currency?: string;
  tenant?: string;
}

/** Its keys stand in the order of RFC 8785, so that plain JSON.stringify is its canonical form. */
export function walletFields(facts: WalletFacts): Record<string, unknown> {
  const {
    id,
    type = "payment.succeeded",
    occurredAt = "2026-09-21T12:00:00Z",
    paymentId = `w-${id}`,
  } = facts;
  const { amount = "19.99", currency = "EUR", tenant = "demo" } = facts;
  return {
    data: { amount, currency, metadata: { tenant }, payment_id: paymentId },
    id,
    occurred_at: occurredAt,
    type,
  };
}

export function walletBody(facts: WalletFacts, secret = walletSecret): string {
  const fields = walletFields(facts);
  return JSON.stringify({ ...fields, signature: hmac(secret, JSON.stringify(fields)) });
}

/** A body whose canonical form is written down by hand. */
export function signedAs(canonical: string, secret = walletSecret): string {
  return hmac(secret, canonical);
}

/** A notification that was verified and read, of payment `p-1`, as the intake decides it. */
export function notificationItem(facts: { id: string; status: Status; occurredMs: number }): Item {
  const { id, status, occurredMs } = facts;
  const payment = { paymentId: "p-1", status, occurredMs, amount: "5", currency: "EUR", tenant: "demo" };
  return {
    provider: "card",
    notification: { id, type: `payment.${status}`, verified: true, payment },
    hash: createHash("sha256").update(JSON.stringify(facts)).digest("hex"),
    caller: Caller.system("tests"),
  };
}
