// What the chart makes of a set of values, for tests: objects by kind, and the environment that a pod's process is given.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { documentsOf, type Rendering, renderText, root } from "../../charts/rendered.ts";
import type { Tree } from "./deployment-files.ts";

export const examples = "charts/records/examples";
/** Value sets that come with the chart. */
export const valueSets: readonly string[] = readdirSync(join(root, examples))
  .filter((file) => /^values-.*\.yaml$/.test(file))
  .sort()
  .map((file) => join(examples, file));

/** What has no default. */
export const needed: readonly string[] = [
  "settings.PUBLIC_URL=https://records.example",
  "database.url=postgresql://postgres:5432/records",
  "store.endpoint=http://store:7070",
];

export interface Release {
  objects: Tree[];
  of: (...kinds: string[]) => Tree[];
  deployments: Tree[];
  /** By name, without the release's. @throws when it is not there */
  deployment: (name: string) => Tree;
}

export function render(rendering: Rendering): Release {
  const objects = documentsOf(renderText(rendering)).map((document) => document.toJS());
  const of = (...kinds: string[]) => objects.filter(({ kind }) => kinds.includes(kind));
  const deployments = of("Deployment");
  return {
    objects,
    of,
    deployments,
    deployment(name) {
      const found = deployments.find(({ metadata }) => componentOf({ metadata }) === name);
      if (found === undefined) throw new Error(`no Deployment ${name}`);
      return found;
    },
  };
}

export const componentOf = ({ metadata }: Tree): string => metadata.labels["app.kubernetes.io/component"];
export const podOf = ({ spec }: Tree): Tree => spec.template.spec;
export const containerOf = (workload: Tree): Tree => podOf(workload).containers[0];
export const servicesOf = (deployment: Tree): string[] =>
  containerOf(deployment)
    .env.find(({ name }: Tree) => name === "SERVICES")
    .value.split(",");

/** As the kubelet makes it. Optional keys are taken for missing. @param secret what stands behind a key of a Secret */
export function environmentOf(
  workload: Tree,
  { of }: Release,
  secret: (key: string) => string,
): Record<string, string> {
  const mapNamed = (name: string): Record<string, string> => {
    const found = of("ConfigMap").find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`no ConfigMap ${name}`);
    return found.data;
  };
  const { env = [], envFrom = [] } = containerOf(workload);
  const fromMaps = envFrom.map(({ configMapRef }: Tree) => mapNamed(configMapRef.name));
  const single = env.flatMap(({ name, value, valueFrom }: Tree): [string, string][] => {
    if (valueFrom === undefined) return [[name, value]];
    const { fieldRef, secretKeyRef, configMapKeyRef } = valueFrom;
    if (fieldRef !== undefined) return [[name, fieldRef.fieldPath === "status.podIP" ? "10.1.2.3" : "pod-1"]];
    if (secretKeyRef !== undefined)
      return secretKeyRef.optional === true ? [] : [[name, secret(secretKeyRef.key)]];
    const set = mapNamed(configMapKeyRef.name)[configMapKeyRef.key];
    if (set === undefined && configMapKeyRef.optional !== true) throw new Error(`no ${configMapKeyRef.key}`);
    return set === undefined ? [] : [[name, set]];
  });
  return Object.assign({}, ...fromMaps, Object.fromEntries(single));
}
