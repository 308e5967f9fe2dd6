/** Settings of the backups. */
import { validate } from "node-cron";
import { optional, setting } from "./entry.ts";
import * as read from "./readers.ts";

const cron: read.Reader<string | undefined> = (text) => {
  if (/^(?:off|none)$/i.test(text)) return undefined;
  if (text.length > 100 || !validate(text)) throw new read.Refused("must be a cron expression, or off");
  return text;
};

export const backupSettings = {
  backupCron: setting(
    "BACKUP_CRON",
    cron,
    "20 2 * * *",
    "When the nightly backups of everything are made (cron, UTC), or `off`",
  ),
  backupAgeMaxHours: setting(
    "BACKUP_AGE_MAX_HOURS",
    read.wholeNumber(1, 8_760),
    "26",
    "Age of the newest full backup from which on superadmins are told by mail that one is missing",
  ),
  backupStreamPort: setting(
    "BACKUP_STREAM_PORT",
    read.wholeNumber(0, 65_535),
    "0",
    "Port on which gateways fetch downloads from a process of the backups; 0 takes any free one",
  ),
  backupStreamHost: optional(
    "BACKUP_STREAM_HOST",
    read.hostToBind,
    "Name or address under which gateways reach this process",
    "its own address; without `NATS_URL` 127.0.0.1",
  ),
};
