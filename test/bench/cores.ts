// Which core does what: the load runs on one core, the service and its PostgreSQL on the other, so that neither takes
// the other's time. Done with `taskset`; where it is missing, everything shares the machine and the bench says so.
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

export interface Cores {
  pinned: boolean;
  /** One plain sentence for the head of the report. */
  description: string;
  /** The command to run a program on the load's core. */
  onLoadCore(command: readonly string[]): readonly [string, ...string[]];
  /** Lets a running process and its children, with all their threads, have both. */
  giveBothCores(processIds: readonly number[]): void;
  /** The command to run a program on both. */
  onBothCores(command: readonly string[]): readonly [string, ...string[]];
}

const serverCore = "0";
const loadCore = "1";

/** @param pin false where nothing is measured. Pins this process to the server's core; what it starts (PostgreSQL, the service, the bare program) inherits that. */
export function takeCores(pin = true): Cores {
  const pinned =
    pin &&
    availableParallelism() >= 2 &&
    spawnSync("taskset", ["--all-tasks", "--cpu-list", "--pid", serverCore, String(process.pid)]).status ===
      0;
  const on =
    (list: string) =>
    ([program = "", ...args]: readonly string[]): readonly [string, ...string[]] =>
      pinned ? ["taskset", "--cpu-list", list, program, ...args] : [program, ...args];
  return {
    pinned,
    description: pinned
      ? `load on core ${loadCore}; service and PostgreSQL on core ${serverCore}`
      : "NOT PINNED (one core, no taskset, or not wanted): load and service take each other's time, believe the CPU figures only",
    onLoadCore: on(loadCore),
    giveBothCores(processIds) {
      if (!pinned) return;
      for (const processId of processIds)
        spawnSync("taskset", [
          "--all-tasks",
          "--cpu-list",
          "--pid",
          `${serverCore},${loadCore}`,
          String(processId),
        ]);
    },
    onBothCores: on(`${serverCore},${loadCore}`),
  };
}
