// What Helm makes of the chart: its objects as YAML documents that keep their comments.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { type Document, parseAllDocuments } from "yaml";
import { findProgram } from "../test/support/programs.ts";

export const root = join(import.meta.dirname, "..");
export const chart = join(root, "charts/records");

/** Oldest and newest Kubernetes that the manifests are checked for. */
export const kubernetesVersions = ["1.30", "1.37"] as const;

/** @returns Helm's file, or undefined where there is none */
export const findHelm = (): string | undefined => findProgram("helm");

export interface Rendering {
  /** Files of values, later ones before earlier ones. */
  valueFiles?: readonly string[];
  /** As after `--set`. */
  set?: readonly string[];
  release?: string;
  namespace?: string;
  kubernetes?: string;
}

/** @throws with Helm's own words where the values are refused */
export function renderText(rendering: Rendering = {}): string {
  const { release = "release", namespace = "records", kubernetes = kubernetesVersions[0] } = rendering;
  const args = ["template", release, chart, "--namespace", namespace, "--kube-version", kubernetes];
  for (const file of rendering.valueFiles ?? []) args.push("--values", join(root, file));
  for (const each of rendering.set ?? []) args.push("--set", each);
  return runHelm(args);
}

/** @returns standard output. @throws with Helm's own words */
export function runHelm(args: readonly string[]): string {
  const helm = findHelm();
  if (helm === undefined) throw new Error("Helm is not on PATH (docs/deploy.md says how to get it).");
  return execFileSync(helm, args, {
    encoding: "utf8",
    stdio: "pipe",
    maxBuffer: 64 * 1024 * 1024,
    timeout: 60_000,
  });
}

/** Of many documents those that hold something. */
export function documentsOf(text: string): Document.Parsed[] {
  return parseAllDocuments(text).filter((document): document is Document.Parsed => {
    const [fault] = [...document.errors, ...document.warnings];
    if (fault !== undefined) throw new Error(fault.message);
    return document.contents !== null;
  });
}
