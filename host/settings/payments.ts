/** Settings of inbound payment notifications. */
import { setting } from "./entry.ts";
import { listOf, type Reader, Refused, wholeNumber } from "./readers.ts";

const secretsMax = 3;

const sharedSecret: Reader<string> = (text) => {
  if (text.length < 16 || text.length > 512) throw new Refused("must list secrets of 16 to 512 characters");
  return text;
};

const sharedSecrets: Reader<readonly string[]> = (text) => {
  const secrets = listOf(sharedSecret)(text);
  if (secrets.length > secretsMax) throw new Refused(`must have at most ${secretsMax} entries`);
  return secrets;
};

function secretsOf(name: string, provider: string) {
  const meaning = `Secrets of the ${provider} provider's notifications, comma-separated, at most ${secretsMax} of at least 16 characters (several while one is being replaced); without any they are kept as \`unverified\` and act on nothing`;
  return { ...setting(name, sharedSecrets, "", meaning, "none"), secret: true };
}

export const paymentSettings = {
  cardWebhookSecrets: secretsOf("CARD_WEBHOOK_SECRETS", "card"),
  walletWebhookSecrets: secretsOf("WALLET_WEBHOOK_SECRETS", "wallet"),
  unsignedPerMinute: setting(
    "RATE_UNSIGNED_PER_MINUTE",
    wholeNumber(1, 100_000),
    "60",
    "Notifications per address that nobody has signed, as no secret is set",
  ),
};
