// The dashboard's panels: what each shows, by which query, in which unit. dashboard.json is written from this list, and the
// pictures in the docs are drawn by the same queries.
// Gauges of the whole installation (jobs, deliveries, backups, …) are shown by every process that can read them, with the
// same value: max() makes one of them. What each process counts for itself is summed.
import type { Row } from "./panel.ts";
import { rowsOfProcesses } from "./panels-of-processes.ts";
import { rowsOfRequests } from "./panels-of-requests.ts";
import { rowsOfWork } from "./panels-of-work.ts";

export const rows: readonly Row[] = [...rowsOfRequests, ...rowsOfWork, ...rowsOfProcesses];
