// All settings, and the type of their parsed values.
import { accountSettings } from "./accounts.ts";
import { auditSettings } from "./audit.ts";
import { backupSettings } from "./backups.ts";
import { cacheSettings } from "./cache.ts";
import { databaseSettings } from "./database.ts";
import type { Setting } from "./entry.ts";
import { httpSettings } from "./http.ts";
import { keySettings } from "./keys.ts";
import { messengerSettings } from "./messenger.ts";
import { natsSettings } from "./nats.ts";
import { paymentSettings } from "./payments.ts";
import { rateSettings } from "./rates.ts";
import { runtimeSettings } from "./runtime.ts";
import { storeSettings } from "./store.ts";
import { telemetrySettings } from "./telemetry.ts";
import { webhookSettings } from "./webhooks.ts";

export const settings = {
  ...runtimeSettings,
  ...natsSettings,
  ...httpSettings,
  ...databaseSettings,
  ...accountSettings,
  ...rateSettings,
  ...keySettings,
  ...auditSettings,
  ...cacheSettings,
  ...paymentSettings,
  ...webhookSettings,
  ...messengerSettings,
  ...backupSettings,
  ...storeSettings,
  ...telemetrySettings,
};

type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** All settings, parsed and checked. Durations have their unit in the name; paths are absolute; URLs have no trailing slash. */
export type Config = { readonly [K in keyof typeof settings]: ValueOf<(typeof settings)[K]> };
