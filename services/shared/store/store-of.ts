// Where this process keeps backups: a bucket of an S3 server where one is set, else a folder under DATA_DIR.
import { join } from "node:path";
import { perRuntime } from "../per-runtime.ts";
import type { Config } from "../settings/settings.ts";
import { FolderStore } from "./folder-store.ts";
import { S3Store } from "./s3-store.ts";
import type { Store } from "./store.ts";

export const storeOf = perRuntime(({ config }): Store => openStore(config));

/** For programs that have no runtime. */
export function openStore(config: Config): Store {
  const { s3Endpoint, s3Bucket, s3AccessKey, s3SecretKey, s3RetentionDays } = config;
  if (s3Endpoint === undefined) return new FolderStore(join(config.dataDir, "backups"));
  if (s3Bucket === undefined || s3AccessKey === undefined || s3SecretKey === undefined)
    throw new Error("settings of the store were not checked");
  return new S3Store({
    endpoint: s3Endpoint,
    bucket: s3Bucket,
    region: config.s3Region,
    accessKey: s3AccessKey,
    secretKey: s3SecretKey,
    pathStyle: config.s3PathStyle,
    authority: config.s3Authority,
    prefix: config.s3Prefix,
    retention:
      s3RetentionDays === undefined ? undefined : { days: s3RetentionDays, mode: config.s3RetentionMode },
  });
}
