// The wall between tenants in the database: it is looked at when a process starts, and here while it runs. Who takes it down has
// the owner's rights, so a person is told at once.
import { isolationFaults } from "../shared/database/guard.ts";
import type { Detector } from "../../mixins/healing/port.ts";
import { textIn } from "../../mixins/healing/targets.ts";

export const tenancyWallDown: Detector = {
  async find({ db }, { target }) {
    const faults = await isolationFaults(db);
    return {
      found: faults
        .filter(({ part }) => target === undefined || part === textIn("wall", target))
        .map(({ part, names }) => ({ target: `wall:${part}`, tenantId: null, evidence: { names } })),
    };
  },
};
