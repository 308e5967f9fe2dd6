// Wraps the master keys with a new BOOT_SECRET, in one transaction.
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import { StartError } from "../../services/shared/start-error.ts";
import {
  opensMasterKeys,
  unwrapMasterKeyBytes,
  wrapMasterKey,
} from "../../services/shared/sealing/wrapping.ts";
import type { LoginSettings } from "./application-login.ts";
import { defaultLogins } from "./logins.ts";
import { openClient } from "../../services/shared/database/open-client.ts";
import { provision } from "./provision.ts";
import { platformRole } from "../../services/shared/database/scope.ts";
import type { RowOf } from "../../services/shared/database/row.ts";

/** By then the connections of a service that has just stopped are closed. */
const goneMsMax = 3_000;
const pollEveryMs = 100;

type Master = RowOf<"master_keys", "version" | "wrapped", { wrapped: Buffer }>;

export interface BootSecrets {
  old: string;
  fresh: string;
}

/**
 * @param ownerUrl the database of a stopped service: a running one could not unwrap its keys afterwards
 * @returns how many keys are wrapped with the new secret now
 * @throws StartError when there are no keys, neither secret unwraps them, or the service runs; then nothing was written
 */
export async function rewrapMasterKeys(
  ownerUrl: string,
  secrets: BootSecrets,
  logins?: LoginSettings,
): Promise<number> {
  const rows = await readMasters(ownerUrl, logins);
  // An earlier, interrupted run may have committed.
  const done = opensMasterKeys(secrets.fresh, rows);
  if (!done) {
    const { urlFor } = await provision({ ownerUrl, bootSecret: secrets.old, logins });
    await wrapAgain(urlFor(["crypto"]), secrets);
  }
  // The passwords of logins are derived from the secret too.
  await provision({ ownerUrl, bootSecret: secrets.fresh, logins });
  return rows.length;
}

async function readMasters(ownerUrl: string, logins: LoginSettings | undefined): Promise<Master[]> {
  const owner = await openClient(ownerUrl, "DATABASE_URL");
  try {
    const { rows } = await owner.query("select to_regclass('master_keys') is not null as exists");
    if (rows[0].exists !== true)
      throw new StartError(
        "The database holds nothing of this service yet, so there are no keys to put under a new secret.",
      );
    await assertStopped(owner, logins);
    const masters = await owner.query<Master>(
      "select version, wrapped from master_keys where wrapped is not null order by version",
    );
    return masters.rows;
  } finally {
    await owner.end();
  }
}

/** Finds running processes that use the old secret by their connections: they run `crypto`, or derive their password from it. */
async function assertStopped(owner: pg.Client, logins: LoginSettings | undefined): Promise<void> {
  const { kinds = defaultLogins, passwords = {} } = logins ?? {};
  const holders = kinds.filter(
    ({ kind, services }) => services.includes("crypto") || passwords[kind] === undefined,
  );
  for (const deadline = performance.now() + goneMsMax; ; await pause(pollEveryMs)) {
    const { rows } = await owner.query<{ name: string }>(
      `select distinct usename::text as name from pg_stat_activity where datname = current_database()
         and usename = any(select current_database() || '_' || kind from unnest($1::text[]) kind) order by 1`,
      [holders.map(({ kind }) => kind)],
    );
    if (rows.length === 0) return;
    if (performance.now() > deadline)
      throw new StartError(
        `The service is running (${rows.map(({ name }) => name).join(", ")} is connected): stop all processes that hold BOOT_SECRET first.`,
      );
  }
}

/** Runs with the login of the crypto service and its rights only. */
async function wrapAgain(appUrl: string, secrets: BootSecrets): Promise<void> {
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
