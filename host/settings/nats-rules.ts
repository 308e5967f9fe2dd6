/** Rules between the settings of the bus. */
import type { Config } from "./settings.ts";

const hasLogin = (url: string) => {
  const { username, password } = new URL(url);
  return username !== "" || password !== "";
};

/** @returns the names of the settings that contain a login to NATS */
export function natsLogins(values: Partial<Config>): string[] {
  return Object.entries({
    NATS_URL: values.natsUrls?.some(hasLogin) === true ? true : undefined,
    NATS_TOKEN: values.natsToken,
    NATS_NKEY_SEED: values.natsNkeySeed,
    NATS_CREDS: values.natsCredentials,
  }).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}

/** @returns sentences on contradictions between the settings of the bus; they hold no secret */
export function natsFaults(values: Partial<Config>, isGiven: (name: string) => boolean): string[] {
  const urls = values.natsUrls ?? [];
  const faults: string[] = [];
  if (isGiven("NATS_URL") && values.natsUrls?.length === 0) faults.push("NATS_URL names no server.");
  if (urls.slice(1).some(hasLogin)) faults.push("NATS_URL must have the login in its first address only.");
  const secure = urls.filter((url) => url.startsWith("tls:")).length;
  if (secure > 0 && secure < urls.length) faults.push("NATS_URL must be all nats:// or all tls://.");
  const logins = natsLogins(values);
  if (logins.length > 1) faults.push(`Only one login to NATS counts, not those of ${logins.join(" and ")}.`);
  if (isGiven("NATS_CERT_FILE") !== (isGiven("NATS_KEY") || isGiven("NATS_KEY_FILE")))
    faults.push("NATS_CERT_FILE and NATS_KEY (or NATS_KEY_FILE) must be given together.");
  const needTls = ["NATS_CA_FILE", "NATS_CERT_FILE", "NATS_TLS_FIRST"].filter(isGiven);
  if (secure === 0 && needTls.length > 0)
    faults.push(`NATS_URL must be tls:// where ${needTls.join(" or ")} is given.`);
  const others = ["NATS_TOKEN", "NATS_NKEY_SEED", "NATS_CREDS"].filter(isGiven);
  if (!isGiven("NATS_URL") && others.length > 0)
    faults.push(`NATS_URL must be given with ${others.join(" or ")}.`);
  return faults;
}
