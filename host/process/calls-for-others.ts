// How much this process is asked for by others: people, operators and other systems. Who works on something large in it (the
// backups) learns here whether somebody would have to wait for that.
import type { Caller } from "../../services/shared/caller.ts";

/** Asked by who watches how the service and its backups are, which is no work of anybody's. */
const watching = ["backups.", "health."];
/** Asked before each request, for one or for several together; the request counts itself. */
const whoAsks = ["auth.authenticate", "auth.authenticate_all"];

export class CallsForOthers {
  #count = 0;

  /** Since the process began. */
  get count(): number {
    return this.#count;
  }

  note(action: string, { principal }: Caller): void {
    if (principal.kind === "system" || whoAsks.includes(action)) return;
    if (watching.some((prefix) => action.startsWith(prefix))) return;
    this.#count++;
  }
}
