// The store for backups of this process: a bucket of an S3 server if one is set, otherwise a folder under DATA_DIR.
import { perRuntime } from "../../services/shared/per-runtime.ts";
import type { Config } from "../../host/settings/settings.ts";
import { backupsFolder, FolderStore } from "./folder-store.ts";
import { S3Store } from "./s3-store.ts";
import type { Store } from "./store.ts";

/** The store of a process, opened at its first use. */
export const storeOf = perRuntime(({ config }): Store => openStore(config));

/** The settings that the store needs. They include the store's credentials. */
export type StoreSettings = Pick<Config, "dataDir" | Extract<keyof Config, `s3${string}`>>;

/** Copies the settings of the store and no others. */
export const storeSettings = (config: Config): StoreSettings => ({
  dataDir: config.dataDir,
  s3Endpoint: config.s3Endpoint,
  s3Bucket: config.s3Bucket,
  s3Region: config.s3Region,
  s3AccessKey: config.s3AccessKey,
  s3SecretKey: config.s3SecretKey,
  s3Prefix: config.s3Prefix,
  s3PathStyle: config.s3PathStyle,
  s3Authority: config.s3Authority,
  s3AllowHttp: config.s3AllowHttp,
  s3RetentionDays: config.s3RetentionDays,
  s3RetentionMode: config.s3RetentionMode,
});

/** Opens the store for programs that have no runtime. */
export function openStore(config: StoreSettings): Store {
  const { s3Endpoint, s3Bucket, s3AccessKey, s3SecretKey, s3RetentionDays } = config;
  if (s3Endpoint === undefined) return new FolderStore(backupsFolder(config.dataDir));
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
