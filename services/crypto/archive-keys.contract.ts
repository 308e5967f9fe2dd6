// Actions for the keys of backup archives. Only the backups service may call them.
import { onlyServices } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { nullable } from "../shared/params/modifiers.ts";
import { object } from "../shared/params/results.ts";
import { id, integer, listOf, text } from "../shared/params/rules.ts";

const backupId = { backup_id: text({ max: 64, pattern: /^bk_[0-9a-f]{32}$/ }) };
const backups = onlyServices("backups");

export const archiveKeysContract = {
  "crypto.make_archive_key": {
    summary:
      "A new key for a backup's archive, and all that a backup needs to be opened with BOOT_SECRET alone.",
    audits: "encryption.make_archive_key",
    access: backups,
    body: { ...backupId, tenant_id: nullable(id()) },
    result: object({
      key: text(),
      master_version: integer(),
      wrapped: text(),
      installation: text(),
      masters: listOf(object({ version: integer(), wrapped: text() })),
    }),
  },
  "crypto.close_archive_key": {
    summary: "Says that an archive holds nothing later than now.",
    audits: "encryption.close_archive_key",
    access: backups,
    body: backupId,
  },
  "crypto.open_archive_key": {
    summary: "The key of a backup's archive, unwrapped.",
    audits: "encryption.open_archive_key",
    access: backups,
    repeatable: true,
    body: backupId,
    result: object({ key: text(), installation: text() }),
  },
  "crypto.drop_archive_key": {
    summary: "Forgets the key of a backup that is gone.",
    audits: "encryption.drop_archive_key",
    access: backups,
    body: backupId,
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof archiveKeysContract> {}
}
