// The list of all faults that are looked for. It is the only one: detectors are typed by it, fixes are seeded from it, and a test
// compares docs/self-healing.md with it.
import { faultsOfBackups } from "./faults-of-backups.ts";
import { faultsOfRows } from "./faults-of-rows.ts";
import { faultsOfServers } from "./faults-of-servers.ts";
import { faultsOfWork } from "./faults-of-work.ts";
import type { KnownFault } from "./known-fault.ts";

const knownFaults = {
  ...faultsOfWork,
  ...faultsOfRows,
  ...faultsOfBackups,
  ...faultsOfServers,
} as const;

type Known = typeof knownFaults;
export type FaultCode = keyof Known;
/** Codes of the faults that the service `S` looks for. */
export type FaultsAt<S extends string> = {
  [C in FaultCode]: S extends Known[C]["at"][number] ? C : never;
}[FaultCode];
/** Codes of the faults that have a remedy. */
export type Healable = { [C in FaultCode]: Known[C]["remedy"] extends string ? C : never }[FaultCode];

export const catalogue: readonly (KnownFault & { code: FaultCode })[] = Object.entries(knownFaults).map(
  // Object.entries loses the type of the keys.
  ([code, fault]) => ({ code: code as FaultCode, ...fault }),
);

/** @returns the fault of that code, or undefined for an unknown code */
export const faultOf = (code: string): (KnownFault & { code: FaultCode }) | undefined =>
  catalogue.find((fault) => fault.code === code);
