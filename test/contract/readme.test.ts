// The table of settings is the settings' own description, the README's two commands exist, no page's link leads nowhere, and
// the sources that pages name are there.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { tableDecisions } from "../../services/backups/table-decisions.ts";
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

const leftOut = new Set(["node_modules", ".git", ".data"]);

/** Every file of the checkout, from its top; packages and what a run leaves behind are left out. */
const files = readdirSync(root, { withFileTypes: true }).flatMap((entry) => {
  if (leftOut.has(entry.name)) return [];
  if (!entry.isDirectory()) return [entry.name];
  return readdirSync(join(root, entry.name), { recursive: true, encoding: "utf8" }).map((name) =>
    join(entry.name, name),
  );
});
const names = new Set(files.map((file) => basename(file)));
const pages = files.filter((file) => file.endsWith(".md"));

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

/** A text in backticks that is a path; one that holds a placeholder is none, and what ends with .js may be a package. */
const sourceName = /^(?:[\w.-]+\/)*[\w.-]+\.(?:ts|mjs|cjs|json|yaml|md|svg|conf|sql)$/;
const folderName = /^(?:[\w.-]+\/)+$/;
const topFolders = new Set(files.flatMap((file) => (file.includes("/") ? [`${file.split("/")[0]}/`] : [])));
/** Names that stand for many files, and files that are not the checkout's: inside an archive, of packages, of a run. */
const examples = /^(?:x\.|NNNN|manifest\.json$|node_modules\/|\.data\/)/;

function isThere(page: string, path: string): boolean {
  if (existsSync(join(root, path)) || existsSync(join(root, dirname(page), path))) return true;
  return !path.includes("/") && names.has(path);
}

// What a release was like is history: its files may have moved since.
it.each(pages.filter((page) => page !== "CHANGELOG.md"))("the sources that %s names are there", (page) => {
  const text = readFileSync(join(root, page), "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
  const named = [...text.matchAll(/`([^`\n]+)`/g)].flatMap(([, name = ""]) =>
    sourceName.test(name) || (folderName.test(name) && topFolders.has(`${name.split("/")[0]}/`))
      ? [name]
      : [],
  );
  expect(named.filter((name) => !examples.test(name) && !isThere(page, name))).toEqual([]);
});

it.each(pages.filter((page) => page !== "CHANGELOG.md"))("the tests that %s runs are there", (page) => {
  const text = readFileSync(join(root, page), "utf8");
  const run = [...text.matchAll(/ (test\/[\w./-]+)(?=[` ])/g)].map(([, path = ""]) => path);
  expect(run.filter((path) => !files.some((file) => file.startsWith(path)))).toEqual([]);
});

describe("ARCHITECTURE.md", () => {
  const text = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  it("stays an overview", () => {
    expect(text.split("\n").length).toBeLessThanOrEqual(201);
  });
  it("is headed by a glossary in the order of the alphabet", () => {
    const [, glossary = ""] = /^# .*?^## Glossary$(.*?)^## /ms.exec(text) ?? [];
    const terms = [...glossary.matchAll(/^\| (?!Term|-)([^|]+) \| [^|]+ \|$/gm)].map(([, term = ""]) => term);
    expect(terms.length).toBeGreaterThanOrEqual(30);
    expect(terms.length).toBeLessThanOrEqual(40);
    expect(terms).toEqual(terms.toSorted((a, b) => a.toLowerCase().localeCompare(b.toLowerCase(), "en")));
  });
  it("leads to the README of every part that has one", () => {
    const ofParts = pages.filter((page) =>
      /^(?:services|mixins|host|operators|migrations|test)\//.test(page),
    );
    expect(ofParts.filter((page) => !text.includes(`](${page}`))).toEqual([]);
  });
});

it("docs/scale.md says of every table how it would be spread over several machines", () => {
  const page = readFileSync(join(root, "docs/scale.md"), "utf8");
  const listed = ["distributed", "reference", "local"].flatMap((kind) => {
    const [, list = ""] = new RegExp(`<!-- ${kind} -->(.*?)<!-- /${kind} -->`).exec(page) ?? [];
    return [...list.matchAll(/`(\w+)`/g)].map(([, table]) => table);
  });
  // That this is every table of the database is compared in test/database/backups/table-decisions.test.ts.
  expect(listed.sort()).toEqual(Object.keys(tableDecisions).sort());
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
