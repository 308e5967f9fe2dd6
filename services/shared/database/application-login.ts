// The login the services work as. Its name follows from the database, its password from BOOT_SECRET: every process
// knows both, so nobody has to choose, store or pass on a second password.
import { hkdfSync } from "node:crypto";

export interface ApplicationLogin {
  name: string;
  password: string;
}

export function applicationLogin(database: string, bootSecret: string): ApplicationLogin {
  const password = hkdfSync("sha256", bootSecret, database, "records application login v1", 32);
  return { name: `${database}_login`, password: Buffer.from(password).toString("base64url") };
}

/** @returns `url` (host, database and parameters) with this login in place of whatever login it names */
export function asApplication(url: string, login: ApplicationLogin): string {
  return editUrl(url, (edited) => {
    edited.username = encodeURIComponent(login.name);
    edited.password = encodeURIComponent(login.password);
  });
}

/** A URL that names no login gets the application's; one that names its own stays as it is. */
export function completeLogin(url: string, bootSecret: string): string {
  const { username, pathname } = new URL(withHost(url));
  if (username !== "") return url;
  return asApplication(url, applicationLogin(decodeURIComponent(pathname.slice(1)), bootSecret));
}

/** URLs of sockets (`postgresql:///records?host=/run/postgresql`) have no host, and such a URL takes no login. */
const noHost = "socket.invalid";
const withHost = (url: string) => url.replace(/^(\w+:\/\/)(?:([^/@?]*@))?\//, `$1$2${noHost}/`);

function editUrl(url: string, edit: (url: URL) => void): string {
  const edited = new URL(withHost(url));
  edit(edited);
  return edited.href.replace(`@${noHost}/`, "@/");
}
