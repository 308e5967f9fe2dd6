// The card provider signs the bytes: `Provider-Signature: t=<unix>,v1=<hex>` with the HMAC-SHA256 of
// `t.body`. The body is parsed only after the signature was verified. As the bytes are signed, fields that
// are not read may hold anything. The header may contain several v1 (while the provider changes its secret)
// and other schemes. A signature is valid for five minutes before and after its time, which limits replays.
import { Invalid } from "../shared/errors.ts";
import {
  type IncomingNotification,
  invalidSignature,
  type Notification,
  type ProviderAdapter,
} from "./adapter.ts";
import { Facts, statusOfType } from "./read-facts.ts";
import { isSignedBy } from "./signatures.ts";
import { Ambiguities, parseNotification } from "./unambiguous-json.ts";

const toleranceSeconds = 300;
const partsMax = 20;

/** The adapter of the card provider. */
export const cardProvider: ProviderAdapter = {
  provider: "card",
  secretsOf: (config) => config.cardWebhookSecrets,
  read(delivery, secrets) {
    if (secrets.length > 0 && !isSigned(delivery, secrets)) throw invalidSignature();
    const ambiguities = new Ambiguities();
    const parsed = parseNotification(delivery.bytes, ambiguities.record);
    if ("failure" in parsed) throw new Invalid([parsed.failure]);
    return notificationIn(new Facts(parsed.value, ambiguities), secrets.length > 0);
  },
};

function isSigned(
  { bytes, signature = "", nowMs }: IncomingNotification,
  secrets: readonly string[],
): boolean {
  const parts = signature.split(",").map((part) => part.trim().split("="));
  const stamps = parts.filter(([name]) => name === "t").map(([, value = ""]) => value);
  const [stamp = ""] = stamps;
  // With two times, one could be verified and the other one used.
  if (parts.length > partsMax || stamps.length !== 1 || !/^\d{1,12}$/.test(stamp)) return false;
  const given = parts
    .filter(([name, , ...rest]) => name === "v1" && rest.length === 0)
    .map(([, hex = ""]) => hex);
  const isTimely = Math.abs(Math.floor(nowMs / 1000) - Number(stamp)) <= toleranceSeconds;
  return isSignedBy(secrets, given, [`${stamp}.`, bytes]) && isTimely;
}

function notificationIn(facts: Facts, verified: boolean): Notification {
  const id = facts.id("id");
  const type = facts.type("type");
  const status = statusOfType(type);
  const payment = status && {
    status,
    occurredMs: facts.unixSeconds("created"),
    paymentId: facts.id("data", "object", "id"),
    amount: facts.wholeAmount("data", "object", "amount"),
    currency: facts.currency("data", "object", "currency"),
    tenant: facts.tenant("data", "object", "metadata", "tenant"),
  };
  if (facts.failures.length > 0) throw new Invalid(facts.failures);
  return { id, type, verified, payment };
}
