// Mails are jobs; whom they go to is asked of others by the bus.
import { addJobs, runJobs, type ServiceRights } from "./rights.ts";

export const mail: ServiceRights = { tenant: { ...addJobs, ...runJobs }, audits: [] };
