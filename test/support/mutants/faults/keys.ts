// Faults of the keys: who may ask for them, how a rotation walks, and when a key ends.
import type { PlantedFault } from "../planted-fault.ts";

export const keyFaults: readonly PlantedFault[] = [
  {
    says: "another service may ask for a tenant's keys",
    file: "services/crypto/crypto.contract.ts",
    text: `access: onlyServices("patients", "webhooks"),`,
    replacement: `access: onlyServices("patients", "webhooks", "messenger"),`,
    tests: { "test/contract/access-stated.test.ts": "are given to these services and no others" },
  },
  {
    says: "a rotation's walk skips the row after each full batch",
    file: "services/crypto/reseal-batch.ts",
    text: "nextAfterId: rows.length < bounds.rowsMax ? edge : lastId,",
    replacement: "nextAfterId: rows.length < bounds.rowsMax ? edge : lastId + 1,",
    tests: { "test/database/interleaved/forced-orders.test.ts": "leaves no row out" },
  },
  {
    says: "a rotation writes over what others have written meanwhile",
    file: "services/crypto/reseal-batch.ts",
    text: "and t.xmin::text = g.row_version",
    replacement: "",
    tests: {
      "test/database/interleaved/forced-orders.test.ts":
        "leaves alone what somebody has written since it read the row",
    },
  },
  {
    says: "a key ends that rows of a later table name",
    file: "services/crypto/retire-keys.ts",
    text: `for (const place of sealedPlaces) {
    const [row]`,
    replacement: `for (const place of sealedPlaces.slice(0, 1)) {
    const [row]`,
    tests: { "test/database/interleaved/forced-orders.test.ts": "alone names" },
  },
  {
    says: "an operator's end of a key looks at the first table alone",
    file: "services/crypto/retire-keys.ts",
    text: `for (const place of sealedPlaces) {
    const counted`,
    replacement: `for (const place of sealedPlaces.slice(0, 1)) {
    const counted`,
    tests: { "test/database/interleaved/forced-orders.test.ts": "alone names" },
  },
  {
    says: "a key ends while a row is being written under it",
    file: "services/crypto/retire-keys.ts",
    text: "order by id for update of k`",
    replacement: "order by id`",
    tests: {
      "test/database/interleaved/forced-orders.test.ts":
        "waits for whoever is writing a row under the old key",
    },
  },
];
