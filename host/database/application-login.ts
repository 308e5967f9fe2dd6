// How the services sign in to the database: as the login of their kind of process. Its name follows from the database and
// the kind, its password from BOOT_SECRET where none was set: in a simple set-up nobody has to choose, store or pass on
// one. A process that is given a URL with a login in it needs neither BOOT_SECRET nor another's password.
import { hkdfSync } from "node:crypto";
import { StartError } from "../../services/shared/start-error.ts";
import { kindFor, type LoginKind } from "./logins.ts";

export interface LoginSettings {
  kinds: readonly LoginKind[];
  /** By kind, where they were set. */
  passwords: Readonly<Record<string, string>>;
}

/** The first login there ever was. */
const oldest = "login";

/** @throws StartError when it was not set and there is nothing to derive it from */
export function passwordOf(
  kind: string,
  database: string,
  { passwords }: LoginSettings,
  bootSecret: string | undefined,
): string {
  const given = passwords[kind];
  if (given !== undefined) return given;
  if (bootSecret === undefined)
    throw new StartError(
      `DATABASE_APP_URL must name a login and its password, or DATABASE_PASSWORD_${kind.toUpperCase()} must be set.`,
    );
  const purpose = `records application login v1${kind === oldest ? "" : ` ${kind}`}`;
  return Buffer.from(hkdfSync("sha256", bootSecret, database, purpose, 32)).toString("base64url");
}

/** @returns `url` (host, database and parameters) with this login in place of whatever login it names */
export function asApplication(url: string, login: { name: string; password: string }): string {
  return editUrl(url, (edited) => {
    edited.username = encodeURIComponent(login.name);
    edited.password = encodeURIComponent(login.password);
  });
}

/**
 * A URL that names no login gets the one for the services of the process; one that names its own stays as it is.
 * @param services names of service folders; undefined: all
 * @throws StartError when no login has what they need
 */
export function completeLogin(
  url: string,
  settings: LoginSettings,
  bootSecret: string | undefined,
  services: readonly string[] | undefined,
): string {
  const { username, pathname } = new URL(withHost(url));
  if (username !== "") return url;
  const database = decodeURIComponent(pathname.slice(1));
  const { kind } = loginFor(settings.kinds, services);
  const password = passwordOf(kind, database, settings, bootSecret);
  return asApplication(url, { name: `${database}_${kind}`, password });
}

/** @throws StartError */
export function loginFor<K extends LoginKind>(
  kinds: readonly K[],
  services: readonly string[] | undefined,
): K {
  const found = kindFor(kinds, services);
  if (found !== undefined) return found;
  const wanted = services === undefined ? "all services" : services.join(", ");
  throw new StartError(`DATABASE_LOGINS has no login with what this process needs (${wanted}).`);
}

/** URLs of sockets (`postgresql:///records?host=/run/postgresql`) have no host, and such a URL takes no login. */
const noHost = "socket.invalid";
const withHost = (url: string) => url.replace(/^(\w+:\/\/)(?:([^/@?]*@))?\//, `$1$2${noHost}/`);

function editUrl(url: string, edit: (url: URL) => void): string {
  const edited = new URL(withHost(url));
  edit(edited);
  return edited.href.replace(`@${noHost}/`, "@/");
}
