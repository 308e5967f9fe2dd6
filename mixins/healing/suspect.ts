// A service that stumbles over what a detector looks for says so, and the detector looks at once instead of by the clock. A
// hint: it names no target and proves nothing, and one that is lost costs only the wait.
import type { Call } from "../../services/shared/bus/bus.ts";
import type { FaultCode } from "./catalogue.ts";

declare module "../../services/shared/bus/bus.ts" {
  interface Events {
    /** Somebody has met what looks like this fault. */
    "faults.suspected": { code: string };
  }
}

export function suspect(call: Pick<Call<unknown>, "hint">, code: FaultCode): void {
  call.hint("faults.suspected", { code });
}
