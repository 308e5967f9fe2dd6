// The README's table of settings is the settings' own description, and its two commands exist.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { describeSettings } from "../../services/shared/config.ts";

const root = join(import.meta.dirname, "../..");
const readme = readFileSync(join(root, "README.md"), "utf8");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

export function settingsTable(): string {
  const rows = describeSettings().map(
    ({ name, default: fallback, meaning }) => `| \`${name}\` | ${fallback} | ${meaning} |`,
  );
  return ["| Setting | Default | Meaning |", "|---|---|---|", ...rows].join("\n");
}

describe("the README", () => {
  it("lists exactly the settings there are", () => {
    const table = /<!-- settings -->\n([\s\S]*?)\n<!-- \/settings -->/.exec(readme)?.[1]?.trim();
    expect(table).toBe(settingsTable());
  });
  it.each(["npm start", "npm test"])("names %s", (command) => {
    expect(readme).toContain(command);
    expect(manifest.scripts[command.split(" ")[1] ?? ""]).toBeDefined();
  });
  it("the lock file holds no registry address", () => {
    expect(readFileSync(join(root, "package-lock.json"), "utf8")).not.toMatch(/"resolved": "http/);
  });
  it("every dependency is pinned exactly", () => {
    const { dependencies, devDependencies, optionalDependencies } = manifest;
    const versions = Object.entries<string>({ ...dependencies, ...devDependencies, ...optionalDependencies });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))).toEqual([]);
  });
});
