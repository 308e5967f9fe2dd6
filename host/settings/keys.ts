/** Settings of the keys that encrypt patients' texts. */
import { secret, setting } from "./entry.ts";
import * as read from "./readers.ts";

export const keySettings = {
  keysHeldSeconds: setting(
    "KEYS_HELD_SECONDS",
    read.wholeNumber(1, 600),
    "60",
    "How long a process may hold a tenant's keys in memory before it asks for them again",
  ),
  newBootSecret: secret(
    "NEW_BOOT_SECRET",
    read.keyMaterial,
    "For `npm run rewrap` only: what `BOOT_SECRET` is to become",
    "none",
  ),
  rotationPacePercent: setting(
    "ROTATION_PACE_PERCENT",
    read.wholeNumber(1, 100),
    "10",
    "Share of its time that a key rotation works; the rest it leaves to requests",
  ),
};
