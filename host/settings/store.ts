/** Settings of the store for backups: a folder, or a bucket of an S3 server. */
import { certificates } from "./certificates.ts";
import { optional, secret, setting } from "./entry.ts";
import * as read from "./readers.ts";

/** Common names of MinIO's settings: read if ours is not set. */
const olderNames: Readonly<Record<string, string>> = {
  S3_BUCKET: "MINIO_BUCKET",
  S3_REGION: "MINIO_REGION",
  S3_ACCESS_KEY: "MINIO_ACCESS_KEY",
  S3_ACCESS_KEY_FILE: "MINIO_ACCESS_KEY_FILE",
  S3_SECRET_KEY: "MINIO_SECRET_KEY",
  S3_SECRET_KEY_FILE: "MINIO_SECRET_KEY_FILE",
};

/** @returns the environment with `MINIO_*` variables under our names; a fault names both variables if both are set and differ */
export function withMinioNames(env: NodeJS.ProcessEnv, faults: string[]): NodeJS.ProcessEnv {
  const renamed: NodeJS.ProcessEnv = { ...env };
  const take = (ours: string, theirs: string, text: string | undefined) => {
    if (!text) return;
    const known = renamed[ours];
    if (!known) renamed[ours] = text;
    else if (known !== text) faults.push(`${ours} and ${theirs} are both set and differ; one is enough.`);
  };
  for (const [ours, theirs] of Object.entries(olderNames)) take(ours, theirs, env[theirs]);
  take("S3_ENDPOINT", "MINIO_ENDPOINT", minioEndpoint(env, faults));
  return renamed;
}

/** A URL, or a host with MINIO_PORT and MINIO_USE_SSL (default true), as in minio's clients. */
function minioEndpoint(env: NodeJS.ProcessEnv, faults: string[]): string | undefined {
  const { MINIO_ENDPOINT: host, MINIO_PORT: port, MINIO_USE_SSL: ssl } = env;
  if (!host || host.includes("://")) return host;
  const secure = ssl ? read.readFlag(ssl) : true;
  if (secure === undefined) faults.push("MINIO_USE_SSL must be true or false.");
  return `${secure === false ? "http" : "https"}://${host}${port ? `:${port}` : ""}`;
}

/** http(s)://host[:port] without a path: buckets are part of the path or of the host name. */
const endpoint: read.Reader<string> = (text) => {
  const address = read.webAddress(text);
  if (URL.parse(address)?.pathname !== "/") throw new read.Refused("must have no path");
  return address;
};

/** S3's own rules, without dots: a wildcard certificate would not cover them. */
const bucketName = read.plainText(
  /^[a-z0-9](?:[a-z0-9-]{1,61}[a-z0-9])$/,
  "3 to 63 small letters, digits and dashes",
);

const regionOfAws = /^https:\/\/s3[.-]([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com/;

export const storeSettings = {
  s3Endpoint: optional(
    "S3_ENDPOINT",
    endpoint,
    "Address of the S3 server that keeps the backups; `MINIO_ENDPOINT` (with `MINIO_PORT`, `MINIO_USE_SSL`), `MINIO_BUCKET`, `MINIO_REGION`, `MINIO_ACCESS_KEY` and `MINIO_SECRET_KEY` are read too",
    "a folder, `DATA_DIR`/backups",
  ),
  s3Bucket: optional("S3_BUCKET", bucketName, "Bucket of the backups; made if it is missing", "none"),
  s3Region: setting(
    "S3_REGION",
    read.plainText(/^[\w-]{1,50}$/, "the name of a region"),
    (textOf) => regionOfAws.exec(textOf("S3_ENDPOINT") ?? "")?.[1] ?? "us-east-1",
    "Region of the bucket",
    "of an Amazon endpoint its own, else us-east-1",
  ),
  s3AccessKey: secret(
    "S3_ACCESS_KEY",
    read.plainText(/^[!-~]{3,256}$/, "3 to 256 visible characters"),
    "Name of the login at the S3 server",
    "none",
  ),
  s3SecretKey: secret(
    "S3_SECRET_KEY",
    read.plainText(/^[!-~]{8,256}$/, "8 to 256 visible characters"),
    "Password of the login at the S3 server",
    "none",
  ),
  s3Prefix: optional(
    "S3_PREFIX",
    read.plainText(
      /^[A-Za-z0-9][\w.-]{0,62}(?:\/[A-Za-z0-9][\w.-]{0,62}){0,3}$/,
      "a path such as records/one",
    ),
    "Beginning of all objects' names, so that several installations share a bucket",
    "none",
  ),
  s3PathStyle: setting(
    "S3_PATH_STYLE",
    read.flag,
    (textOf) => String(!/\.amazonaws\.com(?:\.cn)?$/.test(textOf("S3_ENDPOINT") ?? "")),
    "Whether the bucket stands in the path, or before the host's name",
    "true, but for Amazon",
  ),
  s3Authority: optional(
    "S3_CA_FILE",
    certificates,
    "File of the authorities (PEM) that the S3 server's certificate must come from",
    "the usual ones",
  ),
  s3AllowHttp: setting(
    "S3_ALLOW_HTTP",
    read.flag,
    "false",
    "Whether a server with a public name or address may be spoken to without TLS",
  ),
  s3RetentionDays: optional(
    "S3_RETENTION_DAYS",
    read.wholeNumber(1, 3_650),
    "Days for which nobody can destroy an object that was written; needs a bucket with object lock",
    "none",
  ),
  s3RetentionMode: setting(
    "S3_RETENTION_MODE",
    read.oneOf("governance", "compliance"),
    "governance",
    "Who may end that early: who has the right to bypass it, or nobody at all",
  ),
};
