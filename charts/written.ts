// The files that follow from the chart: k8s/base and some components of kustomize, and the settings that the chart's values may
// name. `npm run manifests` writes them; a test compares. What only an overlay can know (settings, namespace, the Job that
// migrates) is written by hand in kustomize's own files.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Document, isMap, isScalar, type Pair, visit } from "yaml";
import { describeSettings } from "../host/settings/config.ts";
import { documentsOf, type Rendering, renderText, root } from "./rendered.ts";

export const schema = "charts/records/values.schema.json";
const values = "charts/kustomize.values.yaml";
const prefix = "records-";

/** What the chart works out itself: where a process listens, what it runs, where bus, database and store are. */
const ownSettings: ReadonlySet<string> = new Set(
  `DATABASE_LOGINS PORT HOST HEALTH_PORT METRICS_PORT METRICS_HOST SERVICES NODE_ID DATABASE_POOLER NATS_CA_FILE NATS_CERT_FILE NATS_TLS_FIRST
  BACKUP_STREAM_HOST BACKUP_STREAM_PORT S3_ENDPOINT S3_BUCKET S3_REGION S3_PREFIX S3_RETENTION_DAYS S3_RETENTION_MODE S3_CA_FILE
  OTEL_EXPORTER_OTLP_ENDPOINT OTEL_SERVICE_NAME OTEL_TRACES_SAMPLER OTEL_TRACES_SAMPLER_ARG`.split(/\s+/),
);

/** Settings that are neither secrets nor the chart's own. */
export function openSettings(): string[] {
  return describeSettings()
    .map(({ name }) => name)
    .filter((name) => /^[A-Z0-9_]+$/.test(name) && !ownSettings.has(name))
    .sort();
}

/** The chart's schema, with the settings that there are. */
export function writtenSchema(): string {
  const tree = JSON.parse(readFileSync(join(root, schema), "utf8"));
  const value = { type: ["string", "number", "boolean"] };
  tree.$defs.settings.properties = Object.fromEntries(openSettings().map((name) => [name, value]));
  return `${JSON.stringify(tree, null, 2)}\n`;
}

/** By path: what should stand there. @throws where Helm is missing */
export function writtenManifests(): Readonly<Record<string, string>> {
  const base = manifests({});
  const files: Record<string, string> = {
    "k8s/base/service-account.yaml": together(base.filter(ofKind("ServiceAccount"))),
    "k8s/base/disruption-budgets.yaml": together(base.filter(ofKind("PodDisruptionBudget"))),
    "k8s/base/network-policies.yaml": together(base.filter(ofKind("NetworkPolicy"))),
  };
  for (const deployment of base.filter(ofKind("Deployment"))) {
    const name = String(deployment.getIn(["metadata", "name"]));
    const service = base.filter(
      (each) => ofKind("Service")(each) && each.getIn(["metadata", "name"]) === name,
    );
    files[`k8s/base/${name}.yaml`] = together([deployment, ...service]);
  }
  const monitored = manifests({ set: ["monitoring.enabled=true"] });
  const traced = manifests({ set: ["tracing.enabled=true"] });
  const scaled = manifests({ set: ["processes.accounts.autoscaling.enabled=true"] });
  const queued = manifests({
    set: ["processes.outbound.queueScaling.enabled=true", "monitoring.enabled=true"],
  });
  const routed = manifests({ set: ["httpRoute.enabled=true"] });
  const components = "k8s/components";
  const named = (name: string) => (each: Document) => each.getIn(["metadata", "name"]) === name;
  return {
    ...files,
    [`${components}/monitoring/pod-monitor.yaml`]: together(monitored.filter(ofKind("PodMonitor"))),
    [`${components}/monitoring/network-policy.yaml`]: together(monitored.filter(named("metrics"))),
    [`${components}/tracing/network-policy.yaml`]: together(traced.filter(named("traces"))),
    [`${components}/autoscaling/accounts.yaml`]: together(scaled.filter(ofKind("HorizontalPodAutoscaler"))),
    [`${components}/queue-scaling/outbound.yaml`]: together(queued.filter(ofKind("ScaledObject"))),
    [`${components}/gateway-api/http-route.yaml`]: together(routed.filter(ofKind("HTTPRoute"))),
  };
}

const ofKind = (kind: string) => (document: Document) => document.get("kind") === kind;

function manifests(rendering: Rendering): Document[] {
  const text = renderText({ ...rendering, valueFiles: [values], release: "kustomize" });
  return documentsOf(text.replaceAll(/^# Source: .*\n/gm, "")).map(asKustomize);
}

/** Labels of a release: kustomize knows none, and its installations are apart by their namespaces. */
const ofReleases = /^(?:app\.kubernetes\.io\/(?:instance|version|managed-by)|helm\.sh\/chart|checksum\/.*)$/;
const description = "kubernetes.io/description";

/** Without what is Helm's own: names by release, its labels, hashes of settings (kustomize hashes names instead). */
function asKustomize(document: Document.Parsed): Document {
  visit(document, {
    Pair(_key, { key, value }: Pair) {
      const name = isScalar(key) ? String(key.value) : "";
      if (ofReleases.test(name)) return visit.REMOVE;
      const refers = ["scaleTargetRef", "backendRefs"].includes(name);
      if (refers) visit(value as Document["contents"], { Pair: (_at, pair) => shorten(pair) });
      return undefined;
    },
  });
  const kept = ["ServiceAccount", "PodMonitor"].includes(String(document.get("kind")));
  const name = String(document.getIn(["metadata", "name"]));
  if (!kept && name.startsWith(prefix)) document.setIn(["metadata", "name"], name.slice(prefix.length));
  const why = document.getIn(["metadata", "annotations", description]);
  if (why !== undefined) document.deleteIn(["metadata", "annotations", description]);
  for (const path of [
    ["metadata", "annotations"],
    ["spec", "template", "metadata", "annotations"],
  ]) {
    const annotations = document.getIn(path);
    if (isMap(annotations) && annotations.items.length === 0) document.deleteIn(path);
  }
  if (typeof why === "string") document.commentBefore = ` ${why}`;
  return document;
}

function shorten({ key, value }: Pair): undefined {
  if (!isScalar(key) || key.value !== "name" || !isScalar(value)) return;
  const name = String(value.value);
  if (name.startsWith(prefix)) value.value = name.slice(prefix.length);
}

function together(documents: readonly Document[]): string {
  const parts = documents.map((document) => {
    const comment = document.commentBefore === null ? "" : `#${document.commentBefore}\n`;
    document.commentBefore = null;
    const text = document.toString({ lineWidth: 120, directives: false });
    return comment + text.replaceAll(/\[ ([^\]]*) \]/g, "[$1]");
  });
  return `# Written by \`npm run manifests\` from charts/records.\n${parts.join("---\n")}`;
}
