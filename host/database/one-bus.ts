// Processes that use one database must hear each other, which takes the same NAMESPACE and BUS_SECRET. On the bus they cannot
// tell: they do not hear each other. So the sessions of the database are named by a keyed hash of both, and a process that
// starts looks at the names of the others of its login: those are the ones that it is to stand in for.
import { sessionNameOf } from "../consistency/equal-settings.ts";
import { StartError } from "../../services/shared/start-error.ts";
import type { Config } from "../settings/settings.ts";
import type { Database } from "../../services/shared/database/database.ts";

/** In the platform's scope it is another role, which PostgreSQL shows nothing of the login's sessions. */
const nobody = { tenantId: 0 };

/** A process that lives asks for jobs more often. A pooler between may keep sessions of processes that have ended. */
const freshSeconds = 20;

/** What its sessions of the database are called; undefined for a process that is alone. */
export function sessionNameFor(
  { natsUrls, namespace }: Pick<Config, "natsUrls" | "namespace">,
  busSecret: string,
): string | undefined {
  return natsUrls === undefined ? undefined : sessionNameOf(namespace, busSecret);
}

/** @throws StartError when another process of this login has another name @param name of sessionNameFor */
export async function assertOneBus(database: Database, name: string | undefined): Promise<void> {
  if (name === undefined) return;
  const strangers = await database.read(nobody, {
    name: "start.one_bus",
    text: `select from pg_stat_activity where datname = current_database() and usename = session_user
      and starts_with(application_name, 'records ') and application_name <> $1
      and state_change > now() - make_interval(secs => $2) limit 1`,
    values: [name, freshSeconds],
  });
  if (strangers.length > 0)
    throw new StartError(
      "NAMESPACE or BUS_SECRET of this process differs from that of processes that use this database now: both must be the same on all (BUS_SECRET follows from BOOT_SECRET where it is not set).",
    );
}
