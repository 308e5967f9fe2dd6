// The table of settings is the settings' own description, the README's two commands exist, and no link leads nowhere.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { describeSettings } from "../../host/settings/config.ts";

const root = join(import.meta.dirname, "../..");
const readme = readFileSync(join(root, "README.md"), "utf8");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

export function settingsTable(): string {
  const rows = describeSettings().map(
    ({ name, default: fallback, meaning }) => `| \`${name}\` | ${fallback} | ${meaning} |`,
  );
  return ["| Setting | Default | Meaning |", "|---|---|---|", ...rows].join("\n");
}

const handbook = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
const pages = ["README.md", "ARCHITECTURE.md", "BENCHMARKS.md", "CHANGELOG.md", "SECURITY.md"].concat(
  handbook.map((name) => `docs/${name}`),
);

/** As GitHub makes them of headings. */
function anchors(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

it.each(pages)("no link of %s leads nowhere", (page) => {
  const text = readFileSync(join(root, page), "utf8");
  const broken = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].filter(
    ([, file = "", anchor]) => {
      const path = file === "" ? join(root, page) : join(root, dirname(page), file);
      if (!existsSync(path)) return true;
      return anchor !== undefined && !anchors(readFileSync(path, "utf8")).includes(anchor);
    },
  );
  expect(broken.map(([link]) => link)).toEqual([]);
});

describe("the README", () => {
  it("lists exactly the settings there are", () => {
    const page = readFileSync(join(root, "docs/settings.md"), "utf8");
    const table = /<!-- settings -->\n([\s\S]*?)\n<!-- \/settings -->/.exec(page)?.[1]?.trim();
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
