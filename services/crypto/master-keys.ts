// The master keys, which wrap the tenants' data keys. The first one is created at the first start. All
// existing ones must open with BOOT_SECRET.
import { randomBytes } from "node:crypto";
import { Caller } from "../shared/caller.ts";
import type { Change } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import {
  assertBootSecretOpens,
  keyBytes,
  masterFingerprint,
  wrapMasterKey,
} from "../shared/sealing/wrapping.ts";
import type { RowOf } from "../shared/database/row.ts";

/** Exclusive while master keys change; shared while one of them wraps a new data key. */
const lock = "hashtext('crypto.master_keys')";

/** Takes the lock on the master keys until the transaction ends. */
export async function lockMasterKeys(change: Change, how: "exclusive" | "shared"): Promise<void> {
  await change.execute(`select pg_advisory_xact_lock${how === "shared" ? "_shared" : ""}(${lock})`);
}

/**
 * Checks all master keys, or creates the first.
 * @throws StartError when BOOT_SECRET does not open them; nothing is written then
 */
export async function ensureMasterKey({ database, secrets, log }: Runtime): Promise<void> {
  await database.change(platform, Caller.system("crypto"), async (change) => {
    await lockMasterKeys(change, "exclusive");
    const present = await change.execute<RowOf<"master_keys", "version" | "wrapped", { wrapped: Buffer }>>(
      "select version, wrapped from master_keys where wrapped is not null order by version",
    );
    assertBootSecretOpens(secrets.boot, present);
    if (present.length > 0) return;
    const version = 1;
    const key = randomBytes(keyBytes);
    await change.execute(
      "insert into master_keys (version, wrapped, fingerprint, state) values ($1, $2, $3, 'primary')",
      [version, wrapMasterKey(secrets.boot, version, key), masterFingerprint(key)],
    );
    key.fill(0);
    log.info({ version }, "first master key made");
  });
}
