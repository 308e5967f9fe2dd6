/**
 * The thread that runs argon2. It computes the tag of one `Derivation` at a time.
 * On Linux it lowers its own priority, so that on a busy core requests run before password checks.
 */
import { argon2Sync } from "node:crypto";
import { getPriority, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import type { Derivation } from "./argon2-pool.ts";

const niceSteps = 10;

// On Linux setpriority(PRIO_PROCESS, 0) applies to the calling thread; elsewhere it would slow down the whole process.
if (process.platform === "linux") {
  try {
    setPriority(Math.min(19, getPriority() + niceSteps));
  } catch {
    // A sandbox may forbid the call; everything works without it.
  }
}

parentPort?.on("message", ({ password, salt, memoryKib, passes, lanes, tagBytes }: Derivation) => {
  const tag = argon2Sync("argon2id", {
    message: password,
    nonce: salt,
    memory: memoryKib,
    passes,
    parallelism: lanes,
    tagLength: tagBytes,
  });
  parentPort?.postMessage(tag);
});
