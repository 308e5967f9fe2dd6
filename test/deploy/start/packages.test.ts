// What stands between a command and its start: are the packages there that the lock names? And what is said when they cannot
// be fetched.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { systemPath } from "../../support/checkout.ts";

const root = join(import.meta.dirname, "../../..");
// Plain JavaScript, as it runs before anything is installed.
const installed = await import(pathToFileURL(join(root, "install/installed.mjs")).href);
const whatIsMissing: (root: string, withDev: boolean) => string | undefined = installed.whatIsMissing;

let parent = "";
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "records-packages-"));
});
afterAll(() => rm(parent, { recursive: true, force: true }));

type Packages = Record<string, Record<string, unknown>>;
let folders = 0;

/** @param present undefined: npm has not ended; folders are made for all that it has noted */
async function checkout(
  locked: Packages | undefined,
  present: Packages | undefined,
  without = "",
): Promise<string> {
  const place = join(parent, String(++folders));
  await mkdir(join(place, "node_modules"), { recursive: true });
  const manifest = {
    name: "x",
    version: "1.0.0",
    dependencies: { a: "1.0.0" },
    devDependencies: { d: "1.0.0" },
  };
  await writeFile(join(place, "package.json"), JSON.stringify(manifest));
  const lock = (packages: Packages) => JSON.stringify({ lockfileVersion: 3, packages });
  if (locked !== undefined) await writeFile(join(place, "package-lock.json"), lock(locked));
  if (present === undefined) return place;
  await writeFile(join(place, "node_modules/.package-lock.json"), lock(present));
  for (const name of Object.keys(present)) {
    if (name === without) continue;
    await mkdir(join(place, name), { recursive: true });
    await writeFile(join(place, name, "package.json"), "{}");
  }
  return place;
}

const a = { "node_modules/a": { version: "1.0.0", integrity: "sha512-a" } };
const d = { "node_modules/d": { version: "1.0.0", dev: true } };
const other = { "node_modules/a/node_modules/@x/b": { version: "2.0.0" } };
const optional = { "node_modules/o": { version: "1.0.0", optional: true } };
const own = { "": { version: "1.0.0" } };

describe("what is installed", () => {
  it.each<[string, Packages | undefined, Packages | undefined, string | undefined]>([
    ["all of it", { ...own, ...a, ...other }, { ...a, ...other }, undefined],
    ["more than is wanted", { ...own, ...a }, { ...a, ...d, ...other }, undefined],
    ["without what developing needs", { ...own, ...a, ...d }, a, undefined],
    ["without one for another platform", { ...own, ...a, ...optional }, a, undefined],
    ["an installation that was cut off", { ...own, ...a }, undefined, "an earlier installation did not end"],
    ["a package that an update brought", { ...own, ...a, ...other }, a, "@x/b is missing"],
    [
      "a package in another version",
      { ...own, "node_modules/a": { version: "1.0.1" } },
      a,
      "a is another version",
    ],
    [
      "a package of another content",
      { ...own, "node_modules/a": { version: "1.0.0", integrity: "sha512-b" } },
      a,
      "a is another version",
    ],
    ["no lock", undefined, a, undefined],
    ["no lock, and nothing that package.json names", undefined, undefined, "a is missing"],
  ])("%s", async (_name, locked, present, expected) => {
    expect(whatIsMissing(await checkout(locked, present), false)).toBe(expected);
  });

  it("a folder that was deleted since is missed", async () => {
    expect(whatIsMissing(await checkout(a, a, "node_modules/a"), false)).toBe("a is missing");
  });

  it("developing wants its own packages too", async () => {
    expect(whatIsMissing(await checkout({ ...a, ...d }, a), true)).toBe("d is missing");
  });

  it("nothing at all", () => {
    expect(whatIsMissing(join(parent, "nowhere"), false)).toBe("none are installed yet");
  });

  it("this very checkout is complete", () => {
    expect(whatIsMissing(root, true)).toBeUndefined();
  });
});

it("a registry that cannot be reached is one sentence within a minute, and nothing is started", async () => {
  const place = await checkout({ ...own, ...a }, undefined);
  await cp(join(root, "install"), join(place, "install"), { recursive: true });
  const env = {
    PATH: systemPath(),
    HOME: parent,
    npm_config_registry: "http://127.0.0.1:1",
    npm_config_cache: join(parent, "cache"),
  };
  const child = spawn("node", ["install/fetch-packages.mjs", "--omit=dev"], {
    cwd: place,
    env,
    timeout: 60_000,
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const code = await new Promise((resolve) => child.once("close", resolve));
  expect(said).toMatch(/^Fetching packages \(an earlier installation did not end\)\./);
  expect(said.trim().split("\n").at(-1)).toMatch(
    /^The packages cannot be fetched: the registry is not reached \(ECONNREFUSED\)\. Check the network/,
  );
  expect(code).toBe(1);
});
