// The card provider signs bytes: `Provider-Signature: t=<unix>,v1=<hex>` is the HMAC-SHA256 of `t.body`, and nothing is
// parsed before it holds. The bytes have one reading, so what is not read may hold anything. Several v1 (while the provider changes its secret) and other schemes may stand beside it. A
// signature is good for five minutes before and after its time, so a captured request soon is worth nothing.
import { Invalid } from "../shared/errors.ts";
import { type Delivery, invalidSignature, type Notification, type ProviderAdapter } from "./adapter.ts";
import { Facts, statusOfType } from "./read-facts.ts";
import { isSignedBy } from "./signatures.ts";
import { Ambiguities, parseNotification } from "./unambiguous-json.ts";

const toleranceSeconds = 300;
const partsMax = 20;

export const cardProvider: ProviderAdapter = {
  provider: "card",
  secretsOf: (config) => config.cardWebhookSecrets,
  read(delivery, secrets) {
    if (secrets.length > 0 && !isSigned(delivery, secrets)) throw invalidSignature();
    const ambiguities = new Ambiguities();
    const parsed = parseNotification(delivery.bytes, ambiguities.note);
    if ("failure" in parsed) throw new Invalid([parsed.failure]);
    return notificationIn(new Facts(parsed.value, ambiguities), secrets.length > 0);
  },
};

function isSigned({ bytes, signature = "", nowMs }: Delivery, secrets: readonly string[]): boolean {
  const parts = signature.split(",").map((part) => part.trim().split("="));
  const stamps = parts.filter(([name]) => name === "t").map(([, value = ""]) => value);
  const [stamp = ""] = stamps;
  // Of two times one would be checked and the other perhaps believed.
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
