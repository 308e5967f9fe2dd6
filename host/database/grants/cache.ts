// The cache keeps nothing in the database; what administrators do with it is recorded.
import type { ServiceRights } from "./rights.ts";

export const cache: ServiceRights = { tenant: { append_entries: "execute" }, audits: ["cache"] };
