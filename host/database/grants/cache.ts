// The cache keeps nothing in the database. Administrators' actions on it are audited.
import type { ServiceRights } from "./rights.ts";

export const cache: ServiceRights = { tenant: { append_entries: "execute" }, audits: ["cache"] };
