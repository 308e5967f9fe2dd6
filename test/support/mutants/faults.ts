// The list of all planted faults.
import { backupFaults } from "./faults/backups.ts";
import { busFaults } from "./faults/bus.ts";
import { deliveryFaults } from "./faults/deliveries.ts";
import { keyFaults } from "./faults/keys.ts";
import { recordFaults } from "./faults/records.ts";
import { signInFaults } from "./faults/sign-in.ts";
import type { PlantedFault } from "./planted-fault.ts";

export const plantedFaults: readonly PlantedFault[] = [
  ...busFaults,
  ...recordFaults,
  ...deliveryFaults,
  ...keyFaults,
  ...backupFaults,
  ...signInFaults,
];
