// Packages' install scripts never run (.npmrc), and the commands of the README still set everything up on a bare clone: with
// the machine's own npm and node, and a package that would leave a mark if it were let.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { execFile } from "node:child_process";
import { chmod, copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { systemPath } from "../../support/checkout.ts";

const run = promisify(execFile);
/** All that a program does here. */
const said = "console.log('started by', process.env.IS_FRESH, process.argv.slice(2).join(' '));\n";
const root = join(import.meta.dirname, "../../..");
const marks = ["preinstall", "install", "postinstall", "prepare"] as const;
const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));

let folder = "";
let mark = "";
/** Each of them runs programs of one of these, as our packages do: one of them brings Node.js itself. */
let packed: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "records-install-"));
  mark = join(folder, "marks");
  packed = [await pack("moleculer"), await pack("jest")];
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const npm = (cwd: string, ...args: string[]) =>
  run("npm", args, {
    cwd,
    env: { PATH: systemPath(), HOME: folder, npm_config_cache: join(folder, "cache") },
    timeout: 60_000,
  });

/** A package by that name whose scripts leave marks, with a `node` of its own that is this one. */
async function pack(name: string): Promise<string> {
  const place = join(folder, "packages", name);
  await mkdir(place, { recursive: true });
  const scripts = Object.fromEntries(
    marks.map((each) => [each, `mkdir -p ${mark} && touch ${mark}/${each}`]),
  );
  await writeFile(
    join(place, "package.json"),
    JSON.stringify({ name, version: "1.0.0", bin: { node: "node.sh" }, scripts }),
  );
  await writeFile(join(place, "node.sh"), `#!/bin/sh\nIS_FRESH=${name} exec ${process.execPath} "$@"\n`);
  await chmod(join(place, "node.sh"), 0o755);
  await mkdir(join(place, "bin"));
  await writeFile(join(place, "bin/jest.js"), said);
  const { stdout } = await npm(place, "pack", "--silent", "--ignore-scripts", "--pack-destination", folder);
  return join(folder, stdout.trim());
}

/** A clone with our commands, whose packages are those two, and whose programs only say how they were started. */
async function clone(name: string, withOurSettings = true): Promise<string> {
  const place = join(folder, name);
  await mkdir(join(place, "host"), { recursive: true });
  await mkdir(join(place, "operators"), { recursive: true });
  await mkdir(join(place, "test/bench"), { recursive: true });
  const [moleculer = "", jest = ""] = packed.map((file) => `file:${file}`);
  const { name: own, version, type, scripts } = manifest;
  const packages = { dependencies: { moleculer }, devDependencies: { jest } };
  await writeFile(
    join(place, "package.json"),
    JSON.stringify({ name: own, version, type, scripts, ...packages }),
  );
  for (const program of ["start", "migrate", "rewrap", "restore", "psql"])
    await writeFile(join(place, `host/${program}.ts`), said);
  for (const program of ["cli", "repl"]) await writeFile(join(place, `operators/${program}.ts`), said);
  await writeFile(join(place, "test/bench/run.ts"), said);
  await cp(join(root, "install"), join(place, "install"), { recursive: true });
  if (withOurSettings) await copyFile(join(root, ".npmrc"), join(place, ".npmrc"));
  return place;
}

const left = () => readdir(mark).catch(() => []);

describe("npm", () => {
  it("would run them without our settings", async () => {
    await npm(await clone("theirs", false), "install");
    expect((await left()).length).toBeGreaterThan(0);
    await rm(mark, { recursive: true });
  });

  it("runs none with them", async () => {
    await npm(await clone("ours"), "install");
    await npm(join(folder, "ours"), "rebuild");
    expect(await left()).toEqual([]);
  });

  it.each([
    ["start", ""],
    ["run repl", ""],
    ["run migrate", ""],
    ["run rewrap", ""],
    ["run psql", ""],
    ["run backup", "backup"],
    ["run cli", ""],
    ["run restore", ""],
    ["run bench", ""],
    ["test", ""],
    ["run test:faults", "--config jest.faults.config.js"],
    ["run test:healing", "--config jest.healing.config.js"],
  ])(
    "%s on a bare clone installs what is missing, and then runs by what was installed",
    async (command, args) => {
      const place = await clone(command.replaceAll(/[ :]/g, "-"));
      const first = await npm(place, ...command.split(" "));
      expect(first.stdout).toMatch(new RegExp(`^started by (?:moleculer|jest) ${args}\\n$`, "m"));
      expect(await left()).toEqual([]);
      // What is there is not installed again: this would bring it back.
      await rm(join(place, "package-lock.json"));
      await npm(place, ...command.split(" "));
      expect(await readdir(place)).not.toContain("package-lock.json");
    },
  );
});

it("no command leans on a script before or after it: those would not run either", () => {
  const names = Object.keys(manifest.scripts);
  const hooks = names.filter(
    (name) => /^(?:pre|post)/.test(name) && names.includes(name.replace(/^(?:pre|post)/, "")),
  );
  expect(hooks).toEqual([]);
  for (const name of ["install", "preinstall", "postinstall", "prepare"]) expect(names).not.toContain(name);
});
