// The differences between payment providers: the place and content of the signature, and the layout of the
// body. An adapter converts the bytes of a request to a notification or refuses them. Everything after that
// is the same for all providers.
import type { Config } from "../../host/settings/settings.ts";
import { BadRequest } from "../shared/errors.ts";
import type { ProviderName } from "./payments.contract.ts";
import type { Status } from "./payment.rules.ts";

/** The facts about a payment in a notification of one of the four types. */
export interface PaymentFacts {
  paymentId: string;
  status: Status;
  /** Unix time in milliseconds. */
  occurredMs: number;
  /** Digits with at most one decimal point. Never used in computations. */
  amount: string;
  /** Three capital letters. */
  currency: string;
  /** The tenant's subdomain. */
  tenant: string;
}

/** A notification that was read. */
export interface Notification {
  id: string;
  type: string;
  /** False when no secret is configured; then the notification is stored without effect. */
  verified: boolean;
  /** Undefined for other types: they are stored as ignored, and nothing else of the body is read. */
  payment: PaymentFacts | undefined;
}

/** The request as received. */
export interface IncomingNotification {
  bytes: Buffer;
  /** The value of the signature header, if the provider has one. */
  signature: string | undefined;
  nowMs: number;
}

/** Reads the notifications of one provider. */
export interface ProviderAdapter {
  readonly provider: ProviderName;
  readonly secretsOf: (config: Config) => readonly string[];
  /**
   * @param secrets the accepted secrets; with an empty list nothing can be verified
   * @throws BadRequest `invalid_signature`, or the provider's error for a malformed body
   */
  read(delivery: IncomingNotification, secrets: readonly string[]): Notification;
}

/** The same error for every reason, so that a forger learns nothing. */
export function invalidSignature(): BadRequest {
  return new BadRequest("invalid_signature", "Invalid signature");
}
