/**
 * Readers of settings: each parses the text of one environment variable, or throws `Refused` with the rest of the sentence
 * "<NAME> …". They never repeat the text: it may be a secret.
 */
import { isIP } from "node:net";
import { resolve } from "node:path";
import { withoutTrailing } from "../../services/shared/trailing.ts";

/** Why a text is not a valid value, as the words after the setting's name: "must be …". */
export class Refused extends Error {}

export type Reader<T> = (text: string) => T;

export const plainText =
  (pattern: RegExp, expectation: string): Reader<string> =>
  (text) => {
    if (!pattern.test(text)) throw new Refused(`must be ${expectation}`);
    return text;
  };

export const wholeNumber =
  (min: number, max: number): Reader<number> =>
  (text) => {
    const value = Number(text);
    if (!/^\d{1,15}$/.test(text) || value < min || value > max)
      throw new Refused(`must be a whole number from ${min} to ${max}`);
    return value;
  };

/** Parses "true", "false" and their usual spellings; undefined for other texts. */
export function readFlag(text: string): boolean | undefined {
  if (/^(?:true|1|yes|on)$/i.test(text)) return true;
  return /^(?:false|0|no|off)$/i.test(text) ? false : undefined;
}

/** true or false */
export const flag: Reader<boolean> = (text) => {
  const value = readFlag(text);
  if (value === undefined) throw new Refused("must be true or false");
  return value;
};

export const oneOf =
  <const T extends string>(...allowed: readonly T[]): Reader<T> =>
  (text) => {
    const value = allowed.find((each) => each === text);
    if (value === undefined) throw new Refused(`must be one of ${allowed.join(", ")}`);
    return value;
  };

/** Comma-separated, at most 100 parts; empty parts are dropped. */
export const listOf =
  <T>(part: Reader<T>): Reader<readonly T[]> =>
  (text) => {
    const parts = text.split(",").map((each) => each.trim());
    if (parts.length > 100) throw new Refused("must have at most 100 entries");
    return parts.filter((each) => each !== "").map(part);
  };

/** A path, made absolute from the current folder. */
export const absolutePath: Reader<string> = (text) => {
  if (text.includes("\0")) throw new Refused("must be a path");
  return resolve(text);
};

/** An IP address or a host name. */
export const hostToBind: Reader<string> = (text) => {
  const labels = text.split(".");
  const isName =
    labels.length <= 9 &&
    !text.startsWith("-") &&
    labels.every((label) => /^[A-Za-z0-9-]{1,63}$/.test(label));
  if (!isName && isIP(text) === 0) throw new Refused("must be an IP address or a host name");
  return text;
};

export const emailAddress: Reader<string> = plainText(
  /^[^\s@<>,;:"()[\]\\]{1,64}@[^\s@<>,;:"()[\]\\]{1,190}$/,
  "an e-mail address",
);

/** `a@b.example` or `Name <a@b.example>`. */
export const mailSender: Reader<string> = plainText(
  /^(?:[^\p{Cc}<>@",;:]{1,80} <[^\s@<>,;:"()]{1,64}@[^\s@<>,;:"()]{1,190}>|[^\s@<>,;:"()]{1,64}@[^\s@<>,;:"()]{1,190})$/u,
  "an e-mail address, or a name followed by one in angle brackets",
);

/** A URL with one of the schemes; the text is returned unchanged. */
export const urlOf =
  (schemes: readonly string[], needs: (url: URL) => string | undefined = () => undefined): Reader<string> =>
  (text) => {
    const url = URL.parse(text);
    if (!url || !schemes.includes(url.protocol.slice(0, -1)))
      throw new Refused(`must be a URL that begins with ${schemes.map((each) => `${each}://`).join(" or ")}`);
    const fault = needs(url);
    if (fault !== undefined) throw new Refused(fault);
    return text;
  };

const hostNeeded = (url: URL) => (url.hostname === "" ? "must name a host" : undefined);
/** Addresses of NATS servers, each with a host. */
export const natsUrls = listOf(urlOf(["nats", "tls"], hostNeeded));
/** An address of a mail server, optionally with `?tls=off` or `?tls=required`. */
export const smtpUrl = urlOf(["smtp", "smtps"], (url) =>
  /^(?:|\?tls=(?:off|required))$/.test(url.search)
    ? hostNeeded(url)
    : "must have no query but ?tls=off or ?tls=required",
);
/** A PostgreSQL URL with the name of a database. */
export const databaseUrl = urlOf(["postgres", "postgresql"], (url) =>
  url.pathname.length < 2 ? "must name a database after the host" : undefined,
);

/** An http(s) address without query, fragment or credentials; a trailing slash is removed. */
export const webAddress: Reader<string> = (text) => {
  urlOf(["http", "https"], (url) =>
    url.username || url.password || /[?#]/.test(text)
      ? "must have no credentials, query or fragment"
      : undefined,
  )(text);
  return withoutTrailing(text, "/");
};

/** `*`, or an origin exactly as browsers send it: scheme, host and port. */
export const corsOrigin: Reader<string> = (text) => {
  if (text !== "*" && URL.parse(text)?.origin !== text)
    throw new Refused("must list origins such as https://app.example, or be *");
  return text;
};

/** The beginning of placeholders in files that operators fill in. */
const placeholderMark = "REPLACE";

/** An IP address, or a subnet such as 10.0.0.0/8. */
export const subnet: Reader<string> = (text) => {
  if (text.startsWith(placeholderMark))
    throw new Refused("must be filled in with IP addresses or subnets such as 10.0.0.0/28");
  const [address = "", prefix = "0", ...rest] = text.split("/");
  const version = isIP(address);
  if (
    version === 0 ||
    rest.length > 0 ||
    !/^\d{1,3}$/.test(prefix) ||
    Number(prefix) > (version === 4 ? 32 : 128)
  )
    throw new Refused("must list IP addresses or subnets such as 10.0.0.0/8");
  return text;
};

/** Key material: 32 to 512 characters (RFC 7518 §3.2 requires 256 bits for HS256), with at least 8 different ones. */
export const keyMaterial: Reader<string> = (text) => {
  if (text.length < 32 || text.length > 512) throw new Refused("must have 32 to 512 characters");
  if (new Set(text).size < 8) throw new Refused("must have at least 8 different characters");
  return text;
};

export const password: Reader<string> = plainText(/^[^\p{Cc}]{8,128}$/u, "8 to 128 characters long");
