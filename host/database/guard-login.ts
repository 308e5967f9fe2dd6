// Checks that the database login fits the services of the process. It may assume no role except its own ones, has no settings
// that somebody else may have left, has all rights that the services need, and none of the most sensitive rights unless a service
// needs them. Provisioning takes care of all other rights.
import { StartError } from "../../services/shared/start-error.ts";
import type { Config } from "../settings/settings.ts";
import type { Database } from "../../services/shared/database/database.ts";
import { grantsText } from "./grants/catalogue.ts";
import { type Grant, grantsFor, lacking } from "./grants/plan.ts";
import { sensitivePrivileges, rightsByService } from "./grants/registry.ts";
import { everyRoleOf, furtherRolesOf, platformRoleOf, rightsOf } from "./logins.ts";

const noTenant = { tenantId: 0 };

interface Facts {
  name: string;
  /** Whether provisioning has made the login. */
  known: boolean;
  services: string[] | null;
  /** Roles that it may assume, besides its platform role. */
  roles: string[];
  /** Settings with which its sessions start, in place of the server's. */
  settings: string[];
}

export interface LoginFitness {
  /** A sensitive right that no service of the process needs, as a sentence. */
  excess: string | undefined;
}

/**
 * In development excess rights are only logged, so that not every combination of services needs a login.
 * @param warn called with the excess right
 * @throws StartError when the login does not fit
 */
export async function assertLogin(
  database: Database,
  { services, production }: Pick<Config, "services" | "production">,
  warn: (excess: string) => void,
): Promise<void> {
  const { excess } = await assertLoginFits(database, servicesWithRights(services));
  if (excess === undefined) return;
  if (production) throw new StartError(`${excess} DATABASE_LOGINS can name one for ${services?.join(", ")}.`);
  warn(excess);
}

/**
 * @param services names of the process's service folders
 * @throws StartError when it was not made by provisioning, may assume another role, or lacks a right
 */
export async function assertLoginFits(
  database: Database,
  services: readonly string[],
): Promise<LoginFitness> {
  const facts = await database.readOne<Facts>(noTenant, {
    text: `select session_user::text as name, exists (select from database_logins where login = session_user) as known,
      (select services from database_logins where login = session_user) as services,
      array(select r.rolname::text from pg_roles r where pg_has_role(session_user, r.oid, 'set')
        and r.rolname not in (session_user, session_user || '_platform') order by 1) as roles,
      array(select distinct split_part(setting, '=', 1) from pg_db_role_setting s, unnest(s.setconfig) setting
        where s.setrole = session_user::regrole and s.setdatabase in (0, (
          select oid from pg_database where datname = current_database())) order by 1) as settings`,
    values: [],
  });
  const { name, known, roles, settings } = facts ?? { name: "?", known: false, roles: [], settings: [] };
  const own = furtherRolesOf({ name, services: facts?.services ?? [] });
  const others = roles.filter((role) => !own.some((further) => further.role === role));
  if (!known)
    throw new StartError(
      `The database login ${name} is none that \`npm run migrate\` keeps: use one of DATABASE_LOGINS.`,
    );
  if (others.length > 0)
    throw new StartError(`The database login ${name} may take up the role ${others.join(", ")}.`);
  if (settings.length > 0)
    throw new StartError(
      `The database login ${name} has settings of its own (${settings.join(", ")}): run \`npm run migrate\`, which takes them away.`,
    );
  const above = platformRoleOf(name);
  const needsAbove = rightsOf(services).some(({ platform }) => platform !== undefined);
  const wanted = grantsFor({ kind: "", services, name, platformRole: needsAbove ? above : undefined });
  const values = [everyRoleOf(name)];
  const actual = await database.read<Grant>(noTenant, { text: grantsText, values });
  const [missing] = lacking(actual, wanted);
  if (missing !== undefined)
    throw new StartError(
      `The database login ${name} may not ${inWords(missing)}, as this process needs: use another one, or run \`npm run migrate\`.`,
    );
  const excess = sensitivePrivileges
    .filter((each) => !each.services.some((service) => services.includes(service)))
    .flatMap(({ object, column, privilege }) =>
      actual.filter(
        (grant) =>
          grant.object === object &&
          grant.privilege === privilege &&
          (column === undefined || grant.column === "" || grant.column === column),
      ),
    )[0];
  return {
    excess:
      excess &&
      `The database login ${name} may ${inWords(excess)}, for which no service of this process has a use.`,
  };
}

/** @param folders as in SERVICES; undefined: all @returns the folders of services that use the database */
export function servicesWithRights(folders: readonly string[] | undefined): string[] {
  const all = Object.keys(rightsByService);
  return folders === undefined ? all : all.filter((service) => folders.includes(service));
}

function inWords({ privilege, object, column }: Grant): string {
  return `${privilege} ${object}${column === "" ? "" : `.${column}`}`;
}
