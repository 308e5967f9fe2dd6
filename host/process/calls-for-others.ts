// Counts the calls that this process runs for people, operators and other systems. A large job in the process (a backup) reads
// here whether such calls would have to wait for it.
import type { Caller } from "../../services/shared/caller.ts";

/** Calls that only monitor the service and its backups; they are not counted. */
const watching = ["backups.", "health."];
/** Called before each request, for one or for several together; the request itself is counted. */
const authentication = ["auth.authenticate", "auth.authenticate_all"];

/** A counter that only grows. */
export class CallsForOthers {
  #count = 0;

  /** Calls since the start of the process. */
  get count(): number {
    return this.#count;
  }

  add(action: string, { principal }: Caller): void {
    if (principal.kind === "system" || authentication.includes(action)) return;
    if (watching.some((prefix) => action.startsWith(prefix))) return;
    this.#count++;
  }
}
