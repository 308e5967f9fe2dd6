// The database login of a process: the login of its kind. The name follows from the database and the kind. The password is
// derived from BOOT_SECRET unless it is set: so in a simple installation nobody has to choose, store or pass on one. A process
// whose URL names a login needs neither BOOT_SECRET nor the password of another login.
import { hkdfSync } from "node:crypto";
import { StartError } from "../../services/shared/start-error.ts";
import { kindFor, type LoginKind } from "./logins.ts";

export interface LoginSettings {
  kinds: readonly LoginKind[];
  /** Passwords that were set, by kind. */
  passwords: Readonly<Record<string, string>>;
}

/** The first kind; its derivation has no suffix. */
const oldest = "login";

/** @throws StartError when it was not set and there is no BOOT_SECRET to derive it from */
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

/** @returns `url` (host, database and parameters) with this login in place of any login that it names */
export function asApplication(url: string, login: { name: string; password: string }): string {
  return editUrl(url, (edited) => {
    edited.username = encodeURIComponent(login.name);
    edited.password = encodeURIComponent(login.password);
  });
}

/**
 * Adds the login for the services of the process to a URL without a login. A URL that names one is returned unchanged.
 * @param services names of service folders; undefined: all
 * @throws StartError when no login has the rights that they need
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

/** @throws StartError when no kind of login serves all of the services */
export function loginFor<K extends LoginKind>(
  kinds: readonly K[],
  services: readonly string[] | undefined,
): K {
  const found = kindFor(kinds, services);
  if (found !== undefined) return found;
  const wanted = services === undefined ? "all services" : services.join(", ");
  throw new StartError(`DATABASE_LOGINS has no login with what this process needs (${wanted}).`);
}

/**
 * URLs of sockets (`postgresql:///records?host=/run/postgresql`) have no host, and the URL class accepts no login without one.
 */
const noHost = "socket.invalid";
const withHost = (url: string) => url.replace(/^(\w+:\/\/)(?:([^/@?]*@))?\//, `$1$2${noHost}/`);

function editUrl(url: string, edit: (url: URL) => void): string {
  const edited = new URL(withHost(url));
  edit(edited);
  return edited.href.replace(`@${noHost}/`, "@/");
}
