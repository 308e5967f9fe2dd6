// What differs from one provider to the next: where the signature is, what it is over, how the body is laid out. An
// adapter turns the bytes of a request into one notification or refuses them; everything after that is the same for all.
import type { Config } from "../../host/settings/settings.ts";
import { BadRequest } from "../shared/errors.ts";
import type { ProviderName } from "./payments.contract.ts";
import type { Status } from "./payment.rules.ts";

/** What of a payment a notification of one of the four types says. */
export interface PaymentFacts {
  paymentId: string;
  status: Status;
  /** Unix time in milliseconds. */
  occurredMs: number;
  /** Digits, at most one point; never computed with. */
  amount: string;
  /** Three capitals. */
  currency: string;
  /** The tenant's subdomain. */
  tenant: string;
}

export interface Notification {
  id: string;
  type: string;
  /** False when no secret is configured: then it is kept and acts on nothing. */
  verified: boolean;
  /** undefined for other types: they are kept and ignored, and of their body nothing else is read. */
  payment: PaymentFacts | undefined;
}

export interface Delivery {
  bytes: Buffer;
  /** The header that carries the signature, where the provider has one. */
  signature: string | undefined;
  nowMs: number;
}

export interface ProviderAdapter {
  readonly provider: ProviderName;
  readonly secretsOf: (config: Config) => readonly string[];
  /**
   * @param secrets in force; none: nothing can be verified
   * @throws BadRequest `invalid_signature`, and whatever the provider is told of a malformed body
   */
  read(delivery: Delivery, secrets: readonly string[]): Notification;
}

/** The same for every reason, so that nothing can be probed. */
export function invalidSignature(): BadRequest {
  return new BadRequest("invalid_signature", "Invalid signature");
}
