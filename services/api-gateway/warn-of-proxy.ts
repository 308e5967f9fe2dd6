// Logs once that a proxy sends X-Forwarded-For and is not trusted.
import type { Runtime } from "../../host/process/runtime.ts";

const untrustedProxy =
  "A request came with X-Forwarded-For or Forwarded from a sender that TRUST_PROXY does not name. If that is your proxy, " +
  "all its clients count as one address, with one rate for all: name the proxy's addresses in TRUST_PROXY.";

/** Once per process: anyone who can send requests could trigger any number of these lines. */
export function warnOfProxy({ log }: Runtime): () => void {
  let warned = false;
  return () => {
    if (!warned) log.warn(untrustedProxy);
    warned = true;
  };
}
