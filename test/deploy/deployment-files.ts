// Reads the deployment's files for the tests of this folder: YAML, Compose's variables, Kustomize's lists.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseAllDocuments } from "yaml";
import { describeSettings } from "../../host/settings/config.ts";
import { stopMsMax } from "../../services/shared/drain.ts";

export const root = resolve(import.meta.dirname, "../..");

// Manifests have as many shapes as kinds; a test that reaches for a missing field fails, as it should.
export type Tree = any;

/** All documents of a file. Throws on anything that is no valid YAML, duplicate keys too. */
export function readYaml(path: string): Tree[] {
  return parseYaml(readFileSync(join(root, path), "utf8"), path);
}

function parseYaml(text: string, name: string): Tree[] {
  return parseAllDocuments(text, { merge: true }).map((document) => {
    const fault = document.errors[0] ?? document.warnings[0];
    if (fault !== undefined) throw new Error(`${name}: ${fault.message}`);
    return document.toJS();
  });
}

export function yamlFilesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => statSync(join(root, folder, file)).isFile())
    .map((file) => join(folder, file))
    .sort();
}

/** The files that a kustomization names, its own included and those of the folders it names too. */
export function filesOf(kustomization: string): string[] {
  const [tree] = readYaml(kustomization);
  const named = [...(tree.resources ?? []), ...(tree.components ?? [])].map((entry: string) =>
    join(dirname(kustomization), entry),
  );
  const patches = (tree.patches ?? []).flatMap(({ path }: Tree) =>
    path === undefined ? [] : [join(dirname(kustomization), path)],
  );
  const generated = (tree.configMapGenerator ?? []).flatMap(({ files = [] }: Tree) =>
    files.map((file: string) => join(dirname(kustomization), file)),
  );
  const files = [...named, ...patches, ...generated].flatMap((entry) =>
    existsSync(join(root, entry, "kustomization.yaml"))
      ? filesOf(join(entry, "kustomization.yaml"))
      : [entry],
  );
  return [kustomization, ...files];
}

/** What `kubectl apply -k` would send, or undefined where kubectl is not installed. */
export function rendered(overlay: string): Tree[] | undefined {
  try {
    const text = execFileSync("kubectl", ["kustomize", join(root, overlay)], {
      encoding: "utf8",
      stdio: "pipe",
    });
    return parseYaml(text, overlay);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Service folders of the program: everything a process can be told to run; `node` runs in each without being told. */
export const serviceFolders = readdirSync(join(root, "services"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !["shared", "node"].includes(entry.name))
  .map(({ name }) => name)
  .sort();

const described = describeSettings().flatMap(({ name }) => name.split(", "));
/** One variable for each kind of process: `DATABASE_PASSWORD_<KIND>`. */
const perKind = (name: string) => name.replace(/^(DATABASE_PASSWORD_)[A-Z0-9]+?(_FILE)?$/, "$1<KIND>$2");
export const isSetting = (name: string): boolean => described.includes(perKind(name));
export const isSecret = (name: string): boolean => described.includes(`${perKind(name)}_FILE`);

/** The version of the program: the image bears it. */
export const image = `records-service:${JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version}`;

/** One name, and a tag with a whole version: neither `latest` nor a line that moves. */
export const pinned = /^[a-z0-9][\w./-]*:v?\d+\.\d+(?:\.\d+)?(?:-[a-z][\w.-]*)?$/;

/** Longest a process with these settings takes to stop: after that it ends itself. */
export function stopSecondsMax(settings: Readonly<Record<string, string>>): number {
  return stopMsMax({ requestTimeoutMs: Number(settings["REQUEST_TIMEOUT_MS"] ?? 10_000) }) / 1000;
}

/** Compose's `${NAME:?message}`, `${NAME:-default}` and `${NAME}`, as Compose fills them in. */
export function interpolate(text: string, values: Record<string, string>): string {
  return text.replaceAll(/\$\{(\w+)(?::([?-])([^}]*))?\}/g, (_whole, name: string, kind = "", rest = "") => {
    const value = values[name];
    if (value !== undefined && value !== "") return value;
    if (kind === "-") return rest;
    throw new Error(`${name} is not set: ${rest}`);
  });
}

export function seconds(duration: string): number {
  const [, amount, unit] = /^(\d+)(s|m)$/.exec(duration) ?? [];
  return Number(amount) * (unit === "m" ? 60 : 1);
}
