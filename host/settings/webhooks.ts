/** Settings of deliveries to addresses that tenants chose. */
import { setting } from "./entry.ts";
import * as read from "./readers.ts";

const waitsMax = 50;

/** Seconds before each attempt, the first one included. */
const waits: read.Reader<readonly number[]> = (text) => {
  const seconds = read.listOf(read.wholeNumber(0, 604_800))(text);
  if (seconds.length === 0 || seconds.length > waitsMax)
    throw new read.Refused(`must list 1 to ${waitsMax} numbers of seconds`);
  return seconds;
};

export const webhookSettings = {
  webhookAllowSubnets: setting(
    "WEBHOOK_ALLOW_SUBNETS",
    read.listOf(read.subnet),
    "",
    "Addresses and subnets that webhooks may reach although they are not public, by http too: for development",
    "none",
  ),
  webhookRetrySeconds: setting(
    "WEBHOOK_RETRY_SECONDS",
    waits,
    "0,5,300,1800,7200,18000,36000,50400,72000,86400",
    "Seconds to wait before each try of a delivery, comma-separated, the first try included; each grows by up to a fifth at random",
  ),
};
