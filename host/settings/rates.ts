/** Settings of general rate limits. The limits of single operations are beside those operations' settings. */
import { setting } from "./entry.ts";
import { wholeNumber } from "./readers.ts";

const perMinute = wholeNumber(1, 100_000_000);

export const rateSettings = {
  requestsPerMinute: setting(
    "RATE_REQUESTS_PER_MINUTE",
    perMinute,
    "6000",
    "Requests of one user at one gateway; some operations count for more than one",
  ),
  tenantRequestsPerMinute: setting(
    "RATE_TENANT_REQUESTS_PER_MINUTE",
    perMinute,
    "60000",
    "Requests of all users of a tenant at one gateway",
  ),
  anonymousPerMinute: setting(
    "RATE_ANONYMOUS_PER_MINUTE",
    perMinute,
    "600",
    "Requests per address at one gateway to what needs no token; as many again with tokens that are not good",
  ),
  notificationsPerMinute: setting(
    "RATE_NOTIFICATIONS_PER_MINUTE",
    perMinute,
    "6000",
    "Notifications per address at one gateway, of payments and of the messenger",
  ),
};
