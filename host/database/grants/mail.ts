// Mails are jobs. The recipients are read from other services over the bus.
import { addJobs, runJobs, type ServiceRights } from "./rights.ts";

export const mail: ServiceRights = { tenant: { ...addJobs, ...runJobs }, audits: [] };
