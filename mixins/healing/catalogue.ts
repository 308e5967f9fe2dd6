// All faults that are looked for. The one list: detectors are typed by it, the fixes are seeded from it, and
// docs/self-healing.md is compared with it.
import { faultsOfBackups } from "./faults-of-backups.ts";
import { faultsOfRows } from "./faults-of-rows.ts";
import { faultsOfServers } from "./faults-of-servers.ts";
import { faultsOfWork } from "./faults-of-work.ts";
import type { KnownFault } from "./known-fault.ts";

export const knownFaults = {
  ...faultsOfWork,
  ...faultsOfRows,
  ...faultsOfBackups,
  ...faultsOfServers,
} as const;

type Known = typeof knownFaults;
export type FaultCode = keyof Known;
/** Codes of what the service `S` looks for. */
export type FaultsAt<S extends string> = {
  [C in FaultCode]: S extends Known[C]["at"][number] ? C : never;
}[FaultCode];
/** Codes of what has a remedy. */
export type Healable = { [C in FaultCode]: Known[C]["remedy"] extends string ? C : never }[FaultCode];

export const catalogue: readonly (KnownFault & { code: FaultCode })[] = Object.entries(knownFaults).map(
  // Object.entries loses the names' type.
  ([code, fault]) => ({ code: code as FaultCode, ...fault }),
);

export const faultOf = (code: string): (KnownFault & { code: FaultCode }) | undefined =>
  catalogue.find((fault) => fault.code === code);
