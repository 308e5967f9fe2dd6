// Durations that all parts of a rotation must use alike.
import type { Config } from "../../host/settings/settings.ts";

/** A request seals and writes within this time after it got its keys; a later write is refused (503). */
const requestSecondsMax = 3;

/** Seconds after which no process uses a key any more that has stopped sealing. */
export const keyReleaseSeconds = ({ keysHeldSeconds }: Config): number => keysHeldSeconds + requestSecondsMax;

/** SQL assignment that renews the lease of a rotation. When it expires, another process may acquire it. */
export const renewLeaseSql = "leased_until = now() + interval '5 seconds'";
