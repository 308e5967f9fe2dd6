// What a node says of itself, through any of its services: whether its clock is right, what it runs, how full its disk is.
import { statfs } from "node:fs/promises";
import type { Site } from "./port.ts";
import { version } from "../../services/shared/version.ts";

/** Asked for like a fault, at every node; no service has a detector of this name. */
export const nodeFactsCode = "node_facts";

export interface NodeFacts {
  clock_ms: number;
  uptime_s: number;
  version: string;
  /** null: it has no folder of its own. */
  disk_used_percent: number | null;
  disk_max_percent: number;
}

export async function nodeFacts({ runtime: { config } }: Site): Promise<NodeFacts> {
  return {
    disk_used_percent: await usedPercent(config.dataDir),
    disk_max_percent: config.diskUsedMaxPercent,
    uptime_s: Math.floor(process.uptime()),
    version,
    // Last, as it is compared with when the answer comes.
    clock_ms: Date.now(),
  };
}

/** As `df` has it: of what others than root may use. */
async function usedPercent(folder: string): Promise<number | null> {
  try {
    const { blocks, bfree, bavail } = await statfs(folder);
    const used = blocks - bfree;
    return used + bavail === 0 ? null : Math.ceil((100 * used) / (used + bavail));
  } catch {
    return null;
  }
}
