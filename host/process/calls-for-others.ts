// Counts the calls that this process runs for people, operators and other systems. A large job in the process (a backup) reads
// here whether such calls would have to wait for it.
import type { Caller } from "../../services/shared/caller.ts";

/** Calls that only monitor the service and its backups; they are not counted. */
const watching = ["backups.", "health."];
/** Called before each request; the request itself is counted. */
const whoAsks = "auth.authenticate";

/** A counter that only grows. */
export class CallsForOthers {
  #count = 0;

  /** Calls since the start of the process. */
  get count(): number {
    return this.#count;
  }

  note(action: string, { principal }: Caller): void {
    if (principal.kind === "system" || action === whoAsks) return;
    if (watching.some((prefix) => action.startsWith(prefix))) return;
    this.#count++;
  }
}
