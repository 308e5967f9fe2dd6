// The Job that migrates, as kustomize writes it: each version has its own, because a Job cannot be changed; so one `kubectl
// apply` upgrades whole, or is refused before anything is applied.
import { describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { settings } from "../../host/settings/settings.ts";
import { version } from "../../services/shared/version.ts";
import { readYaml, rendered, root, type Tree } from "./deployment-files.ts";

const overlays = ["k8s/overlays/dev", "k8s/overlays/production"];
const production = "k8s/overlays/production/kustomization.yaml";
const hasKubectl = rendered("k8s/base") !== undefined;

/** The whole of k8s with another image in the production overlay, as `kustomize edit set image` writes it. */
function renderedWith(image: string): Tree[] {
  const folder = mkdtempSync(join(tmpdir(), "records-overlay-"));
  try {
    cpSync(join(root, "k8s"), folder, { recursive: true });
    const path = join(folder, "overlays/production/kustomization.yaml");
    const text = readFileSync(path, "utf8");
    const changed = text.replace(/\{ name: records-service, [^}]*\}/, image);
    if (changed === text) throw new Error("the overlay names no image");
    writeFileSync(path, changed);
    const out = execFileSync("kubectl", ["kustomize", join(folder, "overlays/production")], {
      encoding: "utf8",
      stdio: "pipe",
    });
    return parseAllDocuments(out).map((document): Tree => document.toJS());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const jobsOf = (objects: Tree[]) => objects.filter(({ kind }) => kind === "Job");

describe("the Job that migrates", () => {
  it("is named by the tag of the image in every overlay, of its own version by default", () => {
    const [base] = readYaml("k8s/base/migrate.yaml");
    expect(base.metadata.name).toBe("migrate-version");
    for (const overlay of overlays) {
      const [kustomization] = readYaml(join(overlay, "kustomization.yaml"));
      expect(kustomization.replacements).toHaveLength(1);
      expect(kustomization.replacements).toEqual(readYaml(production)[0].replacements);
    }
    expect(readYaml(production)[0].images).toEqual([{ name: "records-service", newTag: version }]);
  });

  (hasKubectl ? it : it.skip)(
    "is rendered so, with the image that all others have (needs kubectl on PATH)",
    () => {
      for (const overlay of overlays) {
        const [job, ...more] = jobsOf(rendered(overlay) ?? []);
        expect(more).toEqual([]);
        expect(job.metadata.name).toBe(`migrate-${version}`);
      }
      const objects = renderedWith(
        '{ name: records-service, newName: "registry.example:5000/clinic/records-service", newTag: 7.8.9 }',
      );
      expect(jobsOf(objects).map(({ metadata }) => metadata.name)).toEqual(["migrate-7.8.9"]);
      const images = objects.flatMap(
        ({ spec }) => spec?.template?.spec.containers.map(({ image }: Tree) => image) ?? [],
      );
      expect(new Set(images)).toEqual(new Set(["registry.example:5000/clinic/records-service:7.8.9"]));
    },
  );

  (hasKubectl ? it : it.skip)(
    "is not rendered at all where its version cannot be told (needs kubectl on PATH)",
    () => {
      for (const image of [
        '{ name: records-service, newName: "registry.example:5000/other", newTag: 7.8.9 }',
        `{ name: records-service, digest: "sha256:${"0".repeat(64)}" }`,
      ])
        expect(() => renderedWith(image)).toThrow(/options\.index 1 is out of bounds/);
    },
  );

  it("takes no longer than pods wait for it", () => {
    const [{ spec }] = readYaml("k8s/base/migrate.yaml");
    const inProduction = settings.schemaWaitSeconds.fallback((name) =>
      name === "NODE_ENV" ? "production" : "",
    );
    expect(spec.activeDeadlineSeconds).toBeLessThanOrEqual(Number(inProduction));
  });
});
