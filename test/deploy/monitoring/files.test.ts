// Files that must agree: dashboard and Kubernetes objects with what they are written from, alerts with their runbooks, and
// runbooks with the interface they send people to.
import { describe, expect, it } from "@jest/globals";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { tmpdir } from "node:os";
import { parse, stringify } from "yaml";
import { rows } from "../../../monitoring/panels.ts";
import { writtenFiles } from "../../../monitoring/written.ts";
import { routes } from "../../../services/api-gateway/routes.ts";
import { faultOf } from "../../../mixins/healing/catalogue.ts";
import { rendered, root, type Tree } from "../deployment-files.ts";

const read = (path: string) => readFileSync(join(root, path), "utf8");
const alerts: Tree[] = parse(read("monitoring/alerts.yaml")).groups.flatMap(({ rules }: Tree) => rules);
const runbooks = read("docs/runbooks.md");

describe("files", () => {
  it.each(Object.entries(writtenFiles()))("%s is what `npm run monitoring` writes", (path, text) => {
    expect(read(path)).toBe(text);
  });
  it("each picture that a panel is drawn as is in the docs", () => {
    const drawn = rows.flatMap(({ panels }) => panels.flatMap(({ drawnAs }) => drawnAs ?? []));
    expect(new Set(drawn).size).toBe(drawn.length);
    expect(drawn.filter((name) => !existsSync(join(root, `docs/images/${name}.svg`)))).toEqual([]);
  });
});

describe("alerts", () => {
  it("each has a paragraph in the runbooks, and each paragraph an alert", () => {
    const paragraphs = [...runbooks.matchAll(/^### (.+)$/gm)].map(([, name]) => name);
    expect(paragraphs.sort()).toEqual(alerts.map(({ alert }) => alert).sort());
  });
  it.each(alerts.map((alert) => [alert.alert, alert] as const))("%s", (name, alert) => {
    expect(name).toMatch(/^Records[A-Z][A-Za-z]+$/);
    expect(["page", "ticket"]).toContain(alert.labels.severity);
    expect(alert.annotations.summary).toMatch(/\.$/);
    expect(alert.annotations.runbook_url).toBe(`docs/runbooks.md#${name.toLowerCase()}`);
    const [, paragraph = ""] = runbooks.split(`### ${name}\n`);
    const [own = ""] = paragraph.split("\n#");
    expect(own).toContain(
      `\`${alert.labels.severity}\`, ${alert.for === undefined ? "at once" : `after ${alert.for}`}.`,
    );
    for (const part of ["- **Look**: ", "- **Do**: "]) expect(own).toContain(part);
  });
});

describe("runbooks", () => {
  it("name operations and faults that there are", () => {
    const known = new Set(routes.map(({ method, path }) => `${method} ${path}`));
    const named = [...runbooks.matchAll(/`(GET|POST) (\/api\/[^`?]+)/g)].map(
      ([, method, path]) => `${method} ${path}`,
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((each) => !known.has(each))).toEqual([]);
    const faults = [...runbooks.matchAll(/(?:fix|incidents?) `([a-z_]+)`/g)].map(([, code]) => code ?? "");
    expect(faults.length).toBeGreaterThan(3);
    expect(faults.filter((code) => faultOf(code) === undefined)).toEqual([]);
  });
  it("name panels that there are", () => {
    const titles = rows.flatMap(({ panels }) => panels.map(({ title }) => title));
    const named = [...runbooks.matchAll(/\*([A-Z][^*\n]+)\*(?!\*)/g)].map(([, title]) => title ?? "");
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((title) => !titles.some((each) => each.startsWith(title)))).toEqual([]);
  });
});

describe("the component for Kubernetes", () => {
  const folder = mkdtempSync(join(tmpdir(), "records-overlay-"));
  const from = (path: string) => relative(folder, join(root, path));
  const overlay = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    namespace: "records",
    resources: [from("k8s/base")],
    components: [from("k8s/components/monitoring")],
  };
  writeFileSync(join(folder, "kustomization.yaml"), stringify(overlay));
  const objects = rendered(relative(root, folder));
  rmSync(folder, { recursive: true });
  if (objects === undefined) {
    it.skip("as rendered: needs kubectl on PATH", () => {});
    return;
  }
  const kind = (wanted: string) => objects.filter((each) => each.kind === wanted);
  it("has each process listen on its pod's address, on the port that is scraped", () => {
    const config = kind("ConfigMap").find(
      ({ metadata }) => /^records-[a-z0-9]+$/.test(metadata.name) && !metadata.labels,
    );
    const port = Number(config.data.METRICS_PORT);
    expect(kind("Deployment").length).toBeGreaterThan(4);
    for (const { spec } of kind("Deployment")) {
      const [container] = spec.template.spec.containers;
      expect(container.ports).toContainEqual({ name: "metrics", containerPort: port });
      const host = { name: "METRICS_HOST", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } };
      expect(container.env).toContainEqual(host);
    }
    const [{ spec }] = kind("PodMonitor");
    expect(spec.podMetricsEndpoints[0].port).toBe("metrics");
    for (const { spec: deployment } of kind("Deployment"))
      expect(deployment.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
  });
  it("lets Prometheus in, and nobody else", () => {
    const { spec } = kind("NetworkPolicy").find(({ metadata }) => metadata.name === "metrics");
    expect(spec.policyTypes).toEqual(["Ingress"]);
    expect(spec.ingress).toEqual([
      {
        from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } }],
        ports: [{ protocol: "TCP", port: "metrics" }],
      },
    ]);
  });
  it("brings dashboard and alerts as they are", () => {
    const dashboard = kind("ConfigMap").find(({ metadata }) => metadata.name === "records-dashboard");
    expect(dashboard.data["dashboard.json"]).toBe(read("monitoring/dashboard.json"));
    expect(kind("PrometheusRule")[0].spec.groups).toEqual(parse(read("monitoring/alerts.yaml")).groups);
  });
});
