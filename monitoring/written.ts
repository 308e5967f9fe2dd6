// The files that follow from others here: the dashboard from its panels, and the objects for Kubernetes from dashboard and
// alerts (kustomize takes no file from outside a component's folder). `npm run monitoring` writes them; a test compares.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { dashboard } from "./dashboard.ts";

export const root = join(import.meta.dirname, "..");
const component = "k8s/components/monitoring";

/** By path: what should stand there. */
export function writtenFiles(): Readonly<Record<string, string>> {
  const json = `${JSON.stringify(dashboard(), null, 2)}\n`;
  const { groups } = parse(readFileSync(join(root, "monitoring/alerts.yaml"), "utf8"));
  const rule = {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "records", labels: { "app.kubernetes.io/name": "records" } },
    spec: { groups },
  };
  const comment = "# Written by `npm run monitoring` from monitoring/alerts.yaml.\n";
  return {
    "monitoring/dashboard.json": json,
    [`${component}/dashboard.json`]: json,
    // The chart's own copies: Helm takes no file from outside a chart either.
    "charts/records/files/dashboard.json": json,
    "charts/records/files/rules.yaml": comment + stringify({ groups }, { lineWidth: 120 }),
    [`${component}/rules.yaml`]: comment + stringify(rule, { lineWidth: 120 }),
  };
}
