// Where this process keeps backups: a folder under DATA_DIR.
import { join } from "node:path";
import { perRuntime } from "../per-runtime.ts";
import { FolderStore } from "./folder-store.ts";
import type { Store } from "./store.ts";

export const storeOf = perRuntime(({ config }): Store => new FolderStore(join(config.dataDir, "backups")));
