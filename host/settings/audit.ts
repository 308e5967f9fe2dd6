/** Settings of the signed checkpoints that keep the audit log honest. */
import { join } from "node:path";
import { secret, setting } from "./entry.ts";
import * as read from "./readers.ts";

/** undefined: no folder. */
const folder: read.Reader<string | undefined> = (text) =>
  text === "off" ? undefined : read.absolutePath(text);

export const auditSettings = {
  auditSigningKey: secret(
    "AUDIT_SIGNING_KEY",
    read.keyMaterial,
    "Makes the key that signs checkpoints of the audit log; at least 32 characters; needed where `audit` runs",
    "generated under `DATA_DIR`, or derived from `BOOT_SECRET`",
  ),
  auditCheckpointMinutes: setting(
    "AUDIT_CHECKPOINT_MINUTES",
    read.wholeNumber(1, 60),
    "15",
    "How often logs that have grown are signed",
  ),
  auditCheckpointDir: setting(
    "AUDIT_CHECKPOINT_DIR",
    folder,
    (textOf) => join(textOf("DATA_DIR") ?? "", "checkpoints"),
    "Folder that checkpoints are added to where `audit` runs, outside the database; `off` for none",
    "`DATA_DIR`/checkpoints",
  ),
  auditCheckpointUrl: secret(
    "AUDIT_CHECKPOINT_URL",
    read.urlOf(["https", "http"]),
    "Address that `webhooks` posts checkpoints to; https and public, or within `WEBHOOK_ALLOW_SUBNETS`",
    "none",
  ),
};
