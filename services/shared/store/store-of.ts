// Where this process keeps backups: a folder under DATA_DIR.
import { join } from "node:path";
import { perRuntime } from "../per-runtime.ts";
import type { Config } from "../settings/settings.ts";
import { FolderStore } from "./folder-store.ts";
import type { Store } from "./store.ts";

/** For programs that have no runtime. */
export function openStore(config: Config): Store {
  return new FolderStore(join(config.dataDir, "backups"));
}

export const storeOf = perRuntime(({ config }): Store => openStore(config));
