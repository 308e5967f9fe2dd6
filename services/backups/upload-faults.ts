// Detects incomplete uploads in the store: parts of archives that use space and are not listed.
import { databaseMs } from "../shared/database/clock.ts";
import type { Database } from "../shared/database/database.ts";
import type { Remedy } from "../../mixins/healing/port.ts";
import { storeOf } from "../../mixins/store/store-of.ts";

/** The sweep aborts them after 45 minutes and runs every ten minutes. */
const ageMs = 2 * 3_600_000;
const target = "uploads";

const before = async (db: Database) => new Date((await databaseMs(db)) - ageMs);

export const uploadLeftovers: Remedy = {
  async find({ runtime, db }, question) {
    if (question.target !== undefined && question.target !== target) return { found: [] };
    const uploads = await storeOf(runtime).countLeftovers(await before(db));
    const evidence = { uploads, older_than_seconds: ageMs / 1000 };
    return { found: uploads === 0 ? [] : [{ target, tenantId: null, evidence }] };
  },
  wouldDo: ({ evidence }) =>
    `Would end ${String(evidence["uploads"])} uploads that have stood still for two hours.`,
  heal: async ({ runtime, db }) => ({ ended: await storeOf(runtime).removeLeftovers(await before(db)) }),
};
