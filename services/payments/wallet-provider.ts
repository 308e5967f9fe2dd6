// The wallet provider signs meaning: the field `signature` is the hex HMAC-SHA256 of the RFC 8785 canonical JSON of the
// body without it. So the body must be read before it can be believed, and it must have one canonical form only: no key
// twice, no half character, no number beyond all doubles. The canonical form of a number is that of the nearest double,
// so a number that is not read need not be exact. The signature bears no time; the inbox and the payment see to replays.
import canonicalize from "canonicalize";
import { BadRequest } from "../shared/errors.ts";
import type { Failure } from "../shared/params/types.ts";
import { invalidSignature, type Notification, type ProviderAdapter } from "./adapter.ts";
import { Facts, statusOfType } from "./read-facts.ts";
import { isSignedBy } from "./signatures.ts";
import { Ambiguities, ambiguous, parseNotification } from "./unambiguous-json.ts";

export const walletProvider: ProviderAdapter = {
  provider: "wallet",
  secretsOf: (config) => config.walletWebhookSecrets,
  read({ bytes }, secrets) {
    const ambiguities = new Ambiguities();
    const parsed = parseNotification(bytes, (ambiguity, path) => {
      if (ambiguity !== "inexact") throw malformed([{ ...ambiguous(ambiguity), loc: ["body"] }]);
      ambiguities.note(ambiguity, path);
    });
    if ("failure" in parsed) throw malformed([parsed.failure]);
    // Parsed anew, because the shared parser takes keys away (`__proto__`) that the signature covers.
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

/** One sentence, as this endpoint has no 422: which field, if it was a field. */
function malformed(failures: readonly Failure[]): BadRequest {
  const where = failures.map(({ loc, msg }) => `${loc.slice(1).join(".") || "body"}: ${msg}`);
  const told = ["The notification is malformed", ...where.slice(0, 10)].join("; ");
  return new BadRequest("malformed_notification", told);
}
