// Says once that a proxy stands before us whose word is not taken.
import type { Runtime } from "../../host/process/runtime.ts";

const untrustedProxy =
  "A request came with X-Forwarded-For or Forwarded from a sender that TRUST_PROXY does not name. If that is your proxy, " +
  "all its clients count as one address, with one rate for all: name the proxy's addresses in TRUST_PROXY.";

/** Once per process: whoever may send requests may send as many of these as he likes. */
export function warnOfProxy({ log }: Runtime): () => void {
  let warned = false;
  return () => {
    if (!warned) log.warn(untrustedProxy);
    warned = true;
  };
}
