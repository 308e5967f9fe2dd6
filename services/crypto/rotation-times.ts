// Times that everybody who walks, ends keys or tells of it must agree about.
import type { Config } from "../../host/settings/settings.ts";

/** A request that took its keys at the last moment has sealed and written within this; a later one is refused (503). */
const requestSecondsMax = 3;

/** After so long nobody holds a key any more that has stopped sealing. */
export const letGoSeconds = ({ keysHeldSeconds }: Config): number => keysHeldSeconds + requestSecondsMax;

/** Sets how long the lease of a rotation lasts from now on; then another process may take it. */
export const leaseRenewed = "leased_until = now() + interval '5 seconds'";
