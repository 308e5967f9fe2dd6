// All processes that use one database must share a bus, which needs the same NAMESPACE and BUS_SECRET. On the bus a difference
// cannot be detected, because such processes do not receive each other's messages. Therefore the application_name of database
// sessions is a keyed hash of both. A process that starts compares its name with those of the other sessions of its login.
import { sessionNameOf } from "../consistency/equal-settings.ts";
import { StartError } from "../../services/shared/start-error.ts";
import type { Config } from "../settings/settings.ts";
import type { Database } from "../../services/shared/database/database.ts";

/** The tenant scope is needed: as the platform role PostgreSQL would not show the sessions of the login. */
const noTenant = { tenantId: 0 };

/** A live process polls for jobs more often than this. A pooler may keep the sessions of processes that have ended. */
const freshSeconds = 20;

/** @returns the application_name of its sessions; undefined for a process without a bus */
export function sessionNameFor(
  { natsUrls, namespace }: Pick<Config, "natsUrls" | "namespace">,
  busSecret: string,
): string | undefined {
  return natsUrls === undefined ? undefined : sessionNameOf(namespace, busSecret);
}

/** @throws StartError when another session of this login has another name @param name from sessionNameFor */
export async function assertOneBus(database: Database, name: string | undefined): Promise<void> {
  if (name === undefined) return;
  const others = await database.read(noTenant, {
    name: "start.one_bus",
    text: `select from pg_stat_activity where datname = current_database() and usename = session_user
      and starts_with(application_name, 'records ') and application_name <> $1
      and state_change > now() - make_interval(secs => $2) limit 1`,
    values: [name, freshSeconds],
  });
  if (others.length > 0)
    throw new StartError(
      "NAMESPACE or BUS_SECRET of this process differs from that of processes that use this database now: both must be the same on all (BUS_SECRET follows from BOOT_SECRET where it is not set).",
    );
}
