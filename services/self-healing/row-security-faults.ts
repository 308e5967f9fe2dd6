// Detects missing row-level security between tenants. It is checked when a process starts, and here while it
// runs. Only somebody with the owner's rights can remove it, so a person is notified at once.
import { isolationFaults } from "../shared/database/guard.ts";
import type { Detector } from "../../mixins/healing/port.ts";
import { textIn } from "../../mixins/healing/targets.ts";

/** The detector `tenancy_wall_down`; its target is `wall:<part>`. */
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
