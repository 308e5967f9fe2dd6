// Metrics of open incidents by fault, including faults without one, and of the last detection run.
import { platform } from "../shared/database/scope.ts";
import { catalogue } from "../../mixins/healing/catalogue.ts";
import { type MetricSample, known } from "../shared/cached-samples.ts";
import type { Runtime } from "../../host/process/runtime.ts";

const gauges = {
  records_incidents_open: {
    help: "Incidents that are not mended, by fault and by how severe the fault is (low, medium, high)",
    labels: ["fault", "severity"],
  },
  records_incidents_failed: { help: "Open incidents whose remedy was tried in vain" },
  records_faults_look_timestamp_seconds: { help: "When any fault was last looked for, since 1970" },
} as const;

type Name = keyof typeof gauges;

interface Row {
  looked: number | null;
  failed: number;
  open: Readonly<Record<string, number>> | null;
}

const text = `select (select extract(epoch from max(looked_at))::float8 from fault_looks) as looked,
    coalesce(sum(failed), 0)::integer as failed, json_object_agg(code, open) as open
  from (select code, count(*)::integer as open, count(*) filter (where status = 'failed')::integer as failed
    from incidents where ended_at is null group by code) i`;

async function read({ database: db }: Runtime): Promise<MetricSample<Name>[]> {
  const row = await db.readOne<Row>(platform, { name: "self-healing.figures", text, values: [] });
  const open = row?.open ?? {};
  return [
    ...catalogue.map(
      ({ code, risk }): MetricSample<Name> => ({
        name: "records_incidents_open",
        labels: { fault: code, severity: risk },
        value: open[code] ?? 0,
      }),
    ),
    ...known("records_incidents_failed", row?.failed),
    ...known("records_faults_look_timestamp_seconds", row?.looked),
  ];
}

/** Registers the metrics, which are read from the database when they are collected. */
export function watchIncidents(runtime: Runtime): void {
  runtime.metrics?.sample("incidents", gauges, () => read(runtime));
}
