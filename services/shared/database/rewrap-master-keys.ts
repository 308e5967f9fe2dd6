// Master keys from under one BOOT_SECRET to under another, in one transaction.
import { randomUUID } from "node:crypto";
import { StartError } from "../embedded/start-error.ts";
import { opensMasterKeys, unwrapMasterKeyBytes, wrapMasterKey } from "../sealing/wrapping.ts";
import type { LoginSettings } from "./application-login.ts";
import { openClient } from "./open-client.ts";
import { provision } from "./provision.ts";
import { platformRole } from "./scope.ts";

interface Master {
  version: number;
  wrapped: Buffer;
}

export interface BootSecrets {
  old: string;
  fresh: string;
}

/**
 * @param ownerUrl the database of a service that is stopped
 * @returns how many keys are under the new secret now
 * @throws StartError when there are none, or neither secret opens them; then nothing was written
 */
export async function underNewSecret(
  ownerUrl: string,
  secrets: BootSecrets,
  logins?: LoginSettings,
): Promise<number> {
  const rows = await readMasters(ownerUrl);
  // A run before this one may have come as far as its commit.
  const done = opensMasterKeys(secrets.fresh, rows);
  if (!done) {
    const { urlFor } = await provision({ ownerUrl, bootSecret: secrets.old, logins });
    await wrapAnew(urlFor(["crypto"]), secrets);
  }
  // The passwords of logins follow from the secret too.
  await provision({ ownerUrl, bootSecret: secrets.fresh, logins });
  return rows.length;
}

async function readMasters(ownerUrl: string): Promise<Master[]> {
  const owner = await openClient(ownerUrl, "DATABASE_URL");
  try {
    const { rows } = await owner.query("select to_regclass('master_keys') is not null as exists");
    if (rows[0].exists !== true)
      throw new StartError(
        "The database holds nothing of this service yet, so there are no keys to put under a new secret.",
      );
    const masters = await owner.query<Master>(
      "select version, wrapped from master_keys where wrapped is not null order by version",
    );
    return masters.rows;
  } finally {
    await owner.end();
  }
}

/** As the crypto service, with its rights and no other. */
async function wrapAnew(appUrl: string, secrets: BootSecrets): Promise<void> {
  const client = await openClient(appUrl, "DATABASE_APP_URL");
  try {
    await client.query("begin");
    await client.query(platformRole);
    await client.query("select pg_advisory_xact_lock(hashtext('crypto.master_keys'))");
    const { rows } = await client.query<Master>(
      "select version, wrapped from master_keys where wrapped is not null order by version for update",
    );
    for (const { version, wrapped } of rows) {
      const key = unwrapMasterKeyBytes(secrets.old, version, wrapped);
      const again = wrapMasterKey(secrets.fresh, version, key);
      key.fill(0);
      await client.query("update master_keys set wrapped = $1 where version = $2", [again, version]);
    }
    await client.query(
      `insert into audit_entries (tenant_id, action, outcome, changes, request_id)
       select id, 'encryption.rewrap', 'ok', $1, $2 from tenants where subdomain = 'platform' and deleted_at is null`,
      [JSON.stringify({ master_keys: rows.length }), randomUUID()],
    );
    await client.query("commit");
  } finally {
    await client.end();
  }
}
