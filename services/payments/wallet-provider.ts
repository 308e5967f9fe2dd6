// The wallet provider signs the content: the field `signature` is the hex HMAC-SHA256 of the RFC 8785
// canonical JSON of the body without that field. So the body is parsed before it is verified, and must have
// exactly one canonical form: no key twice, no unpaired surrogate, no number beyond the range of doubles. The
// canonical form of a number is that of the nearest double, so a number that is not read need not be exact.
// The signature contains no time: the inbox and the rules of payments make replays harmless.
import canonicalize from "canonicalize";
import { BadRequest } from "../shared/errors.ts";
import type { Failure } from "../shared/params/types.ts";
import { invalidSignature, type Notification, type ProviderAdapter } from "./adapter.ts";
import { Facts, statusOfType } from "./read-facts.ts";
import { isSignedBy } from "./signatures.ts";
import { Ambiguities, ambiguous, parseNotification } from "./unambiguous-json.ts";

/** The adapter of the wallet provider. */
export const walletProvider: ProviderAdapter = {
  provider: "wallet",
  secretsOf: (config) => config.walletWebhookSecrets,
  read({ bytes }, secrets) {
    const ambiguities = new Ambiguities();
    const parsed = parseNotification(bytes, (ambiguity, path) => {
      if (ambiguity !== "inexact") throw malformed([{ ...ambiguous(ambiguity), loc: ["body"] }]);
      ambiguities.record(ambiguity, path);
    });
    if ("failure" in parsed) throw malformed([parsed.failure]);
    // Parsed again, because the shared parser removes keys (`__proto__`) that the signature covers.
    const value: unknown = JSON.parse(parsed.text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw malformed([]);
    const { signature, ...rest } = value as { signature?: unknown };
    if (secrets.length > 0) {
      const given = typeof signature === "string" ? [signature] : [];
      if (!isSignedBy(secrets, given, [canonicalize(rest) ?? ""])) throw invalidSignature();
    }
    return notificationIn(new Facts(rest, ambiguities), secrets.length > 0);
  },
};

function notificationIn(facts: Facts, verified: boolean): Notification {
  const id = facts.id("id");
  const type = facts.type("type");
  const status = statusOfType(type);
  const payment = status && {
    status,
    occurredMs: facts.isoMoment("occurred_at"),
    paymentId: facts.id("data", "payment_id"),
    amount: facts.decimalAmount("data", "amount"),
    currency: facts.currency("data", "currency"),
    tenant: facts.tenant("data", "metadata", "tenant"),
  };
  if (facts.failures.length > 0) throw malformed(facts.failures);
  return { id, type, verified, payment };
}

/** One sentence with the fields at fault, because this endpoint answers 400 instead of 422. */
function malformed(failures: readonly Failure[]): BadRequest {
  const where = failures.map(({ loc, msg }) => `${loc.slice(1).join(".") || "body"}: ${msg}`);
  const message = ["The notification is malformed", ...where.slice(0, 10)].join("; ");
  return new BadRequest("malformed_notification", message);
}
