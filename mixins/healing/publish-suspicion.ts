// A service that notices a sign of a fault publishes it, and the detector runs at once instead of at its next time. The event is
// only a hint: it names no target and proves nothing. If it is lost, the fault is found at the next scheduled run.
import type { Call } from "../../services/shared/bus/bus.ts";
import type { FaultCode } from "./catalogue.ts";

declare module "../../services/shared/bus/bus.ts" {
  interface Events {
    /** A service has noticed something that looks like this fault. */
    "faults.suspected": { code: string };
  }
}

/** Publishes the hint that this fault may have happened. */
export function publishSuspicion(call: Pick<Call<unknown>, "hint">, code: FaultCode): void {
  call.hint("faults.suspected", { code });
}
