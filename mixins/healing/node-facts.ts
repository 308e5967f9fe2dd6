// The facts that a node reports about itself through any of its services: its clock, its version, the use of its disk.
import { statfs } from "node:fs/promises";
import type { DetectorCall } from "./port.ts";
import { version } from "../../services/shared/version.ts";

/** Requested like a fault, from every node. No service has a detector of this name. */
export const nodeFactsCode = "node_facts";

export interface NodeFacts {
  clock_ms: number;
  uptime_s: number;
  version: string;
  /** null: the node has no data folder. */
  disk_used_percent: number | null;
  disk_max_percent: number;
}

/** Reads the facts of the node on which it runs. */
export async function nodeFacts({ runtime: { config } }: DetectorCall): Promise<NodeFacts> {
  return {
    disk_used_percent: await usedPercent(config.dataDir),
    disk_max_percent: config.diskUsedMaxPercent,
    uptime_s: Math.floor(process.uptime()),
    version,
    // Last, because it is compared with the time at which the answer arrives.
    clock_ms: Date.now(),
  };
}

/** As `df` computes it: the share of the space that users other than root may use. */
async function usedPercent(folder: string): Promise<number | null> {
  try {
    const { blocks, bfree, bavail } = await statfs(folder);
    const used = blocks - bfree;
    return used + bavail === 0 ? null : Math.ceil((100 * used) / (used + bavail));
  } catch {
    return null;
  }
}
