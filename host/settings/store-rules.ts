/** Rules between the settings of the S3 store. */
import { isIP } from "node:net";
import { isGlobal } from "../../mixins/outbound/address-rules.ts";
import type { Config } from "./settings.ts";

const needed = ["S3_BUCKET", "S3_ACCESS_KEY", "S3_SECRET_KEY"];
const useless = [...needed, "S3_PREFIX", "S3_CA_FILE", "S3_RETENTION_DAYS"];
/** A name without a dot, or in a private domain. */
const privateName = /^[^.]+$|\.(?:local|internal|lan|test|svc|localhost|home\.arpa|cluster\.local)$/;

/** @returns sentences on contradictions between the settings of the store */
export function storeFaults(values: Partial<Config>, isGiven: (name: string) => boolean): string[] {
  const missing = needed.filter((name) => !isGiven(name));
  if (!isGiven("S3_ENDPOINT")) {
    const given = useless.filter(isGiven);
    return given.length === 0 ? [] : [`${given.join(", ")} must not be set without S3_ENDPOINT.`];
  }
  const faults = missing.map((name) => `${name} must be set when S3_ENDPOINT is.`);
  if (isGiven("S3_RETENTION_MODE") && !isGiven("S3_RETENTION_DAYS"))
    faults.push("S3_RETENTION_MODE is of no use without S3_RETENTION_DAYS.");
  const address = values.s3Endpoint === undefined ? null : URL.parse(values.s3Endpoint);
  if (address?.protocol !== "http:") return faults;
  if (values.s3Authority !== undefined) faults.push("S3_CA_FILE is of no use with an S3_ENDPOINT of http.");
  if (values.s3AllowHttp === false && !isPrivate(address.hostname))
    faults.push("S3_ENDPOINT must be https, as its host is a public one (or S3_ALLOW_HTTP true).");
  return faults;
}

function isPrivate(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return isIP(bare) === 0 ? privateName.test(bare) : !isGlobal(bare);
}
