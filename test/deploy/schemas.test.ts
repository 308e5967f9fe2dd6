// Every manifest against real schemas: those of Kubernetes itself, strictly and for the oldest and the newest version, and those
// of the custom resources of others (KEDA, Gateway API, Prometheus Operator, CloudNativePG, External Secrets).
import { describe, expect, it } from "@jest/globals";
import { Cluster } from "@kubernetes-models/cloudnative-pg/postgresql.cnpg.io/v1/Cluster";
import { Pooler } from "@kubernetes-models/cloudnative-pg/postgresql.cnpg.io/v1/Pooler";
import { ExternalSecret } from "@kubernetes-models/external-secrets/external-secrets.io/v1/ExternalSecret";
import { HTTPRoute } from "@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute";
import { ScaledObject } from "@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject";
import { PodMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor";
import { PrometheusRule } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { documentsOf, kubernetesVersions, renderText } from "../../charts/rendered.ts";
import { describeWithHelm, describeWithSchemas, kubernetesValidate } from "../support/describe-with-helm.ts";
import { readYaml, root, type Tree, yamlFilesUnder } from "./deployment-files.ts";
import { examples, needed, valueSets } from "./rendered-chart.ts";

/** By kind: what checks it. */
const custom: Record<string, new (data: never) => { validate(): void }> = {
  Cluster,
  ExternalSecret,
  HTTPRoute,
  PodMonitor,
  Pooler,
  PrometheusRule,
  ScaledObject,
};
const exampleObjects = ["cloudnative-pg.yaml", "external-secrets.yaml"].map((file) => join(examples, file));
const isCustom = ({ kind }: Tree) => kind in custom;
const kustomize = yamlFilesUnder("k8s").filter((file) => file.endsWith(".yaml"));

/** @returns what is wrong with it, or "" */
function faultOf(object: Tree): string {
  const Model = custom[object.kind];
  if (Model === undefined) throw new Error(`no schema for ${object.kind}`);
  try {
    // Its type is that of the very kind; whether it is of that type is what is looked at.
    new Model(object as never).validate();
    return "";
  } catch (error) {
    return String(error);
  }
}

describe("custom resources", () => {
  const written = [...kustomize, ...exampleObjects].flatMap((file) =>
    readYaml(file)
      .filter(isCustom)
      .map((object) => [`${object.kind} ${object.metadata.name} in ${file}`, object] as const),
  );
  it.each(written)("%s is as its schema has it", (_name, object) => expect(faultOf(object)).toBe(""));
  it("are of every kind that has a schema here", () => {
    expect([...new Set(written.map(([, { kind }]) => kind))].sort()).toEqual(Object.keys(custom).sort());
  });
  it("that are wrong are found", () => {
    for (const [, object] of written) expect(faultOf({ ...object, spec: [] })).toMatch(/spec/);
  });
});

/** What the checker says of the manifests in a file; nothing when all is well. */
function strictly(version: string, text: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "records-schemas-"));
  const file = join(folder, "manifests.yaml");
  writeFileSync(file, text);
  const args = ["--strict", "--quiet", "--no-warn", "--kubernetes-version", version, file];
  return new Promise((resolve) => {
    execFile(kubernetesValidate ?? "", args, { timeout: 120_000 }, (error, output, errors) => {
      rmSync(folder, { recursive: true, force: true });
      resolve(error === null ? output : `${output}${errors}` || error.message);
    });
  });
}

/** As the files have it: Kubernetes reads YAML 1.1, where an unquoted `off` is a boolean. Kinds of others are passed over. */
const textOf = (files: readonly string[]) =>
  files
    .filter((file) => !file.endsWith("kustomization.yaml"))
    .map((file) => readFileSync(join(root, file), "utf8"))
    .join("\n---\n");

describeWithSchemas("the schemas of Kubernetes", () => {
  describe.each(kubernetesVersions)("%s", (version) => {
    it("take the manifests of kustomize", async () => {
      expect(await strictly(version, textOf(kustomize))).toBe("");
    });
    it("find what is wrong", async () => {
      const [deployment] = readYaml("k8s/base/gateway.yaml");
      deployment.spec.template.spec.containers[0].readinesProbe = {};
      expect(await strictly(version, JSON.stringify(deployment))).toMatch(/readinesProbe/);
    });
    describeWithHelm("for the chart", () => {
      it("take what it makes of each set of values", async () => {
        const kubernetes = version;
        const texts = [
          renderText({ set: needed, kubernetes }),
          ...valueSets.map((values) => renderText({ valueFiles: [values], kubernetes })),
        ];
        const objects: Tree[] = texts.flatMap(documentsOf).map((document) => document.toJS());
        expect(objects.length).toBeGreaterThan(15 * texts.length);
        // The checker takes seconds to start, and for each object: all at once, and what several sets have alike once.
        const different = new Set(texts.flatMap((text) => text.split(/^---$/m)));
        expect(await strictly(version, [...different].join("\n---\n"))).toBe("");
        for (const object of objects.filter(isCustom)) expect(faultOf(object)).toBe("");
      });
    });
  });
});

describe("the examples for operators", () => {
  it("are all there is beside the value sets", () => {
    const others = yamlFilesUnder(examples).filter((file) => !valueSets.includes(file));
    expect(others.map((file) => basename(file))).toEqual([
      "cloudnative-pg.yaml",
      "external-secrets.yaml",
      "nats-values.yaml",
    ]);
  });
  it("fill each Secret that the chart cannot do without, with each key", () => {
    const [table] = readYaml("charts/records/files/services.yaml");
    const [{ secrets }] = readYaml("charts/records/values.yaml");
    const needs = Object.values<Tree>(table.services).flatMap(({ group, secrets: keys = [] }) => [
      ...keys.filter(({ optional }: Tree) => optional !== true),
      ...(group === undefined ? [] : [{ name: `DATABASE_PASSWORD_${group.toUpperCase()}`, of: group }]),
    ]);
    needs.push(
      { name: "NATS_URL", of: "bus" },
      { name: "BUS_SECRET", of: "bus" },
      { name: "DATABASE_URL", of: "owner" },
    );
    const filled = readYaml(join(examples, "external-secrets.yaml"));
    for (const { name, of } of needs) {
      const found = filled.find(({ spec }) => spec.target.name === secrets[of]);
      expect(found.spec.data.map(({ secretKey }: Tree) => secretKey)).toContain(name);
    }
  });
  it("give NATS' users the rights to this installation's subjects", () => {
    const [values] = readYaml(join(examples, "nats-values.yaml"));
    const [user] = values.config.merge.authorization.users;
    expect(user.permissions).toEqual({ publish: ["MOL-records.>"], subscribe: ["MOL-records.>"] });
    expect(values.config.nats.tls.merge.verify_and_map).toBe(true);
  });
  describeWithHelm("with Helm", () => {
    it("agree with the values that go with them", () => {
      const text = renderText({ valueFiles: [join(examples, "values-operators.yaml")] });
      const [cluster, pooler] = readYaml(join(examples, "cloudnative-pg.yaml"));
      expect(text).toContain(`//${pooler.metadata.name}:5432/${cluster.spec.bootstrap.initdb.database}?`);
      expect(text).toContain(`secretName: ${cluster.metadata.name}-ca`);
      expect(pooler.spec.pgbouncer.poolMode).toBe("transaction");
      expect(readFileSync(join(root, "docs/deploy.md"), "utf8")).toContain("cloudnative-pg.yaml");
    });
  });
});
