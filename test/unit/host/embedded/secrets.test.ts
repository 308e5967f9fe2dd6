// Generated secrets: made once, never lost, never written over.

import { afterEach, describe, expect, it } from "@jest/globals";
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { loadOrCreateSecrets } from "../../../../host/embedded/secrets.ts";
import { StartError } from "../../../../services/shared/start-error.ts";
import { Scene, startError } from "./scene.ts";

const scene = new Scene();
afterEach(() => scene.clear());

describe("generated secrets", () => {
  it("are 32 random bytes each, all different, in a file for its owner only", async () => {
    const folder = await scene.folder();
    const secrets = await loadOrCreateSecrets(folder, ["jwt", "boot", "database"]);
    expect(Object.keys(secrets)).toEqual(["jwt", "boot", "database"]);
    for (const secret of Object.values(secrets)) expect(secret).toMatch(/^[\w-]{43}$/);
    expect(new Set(Object.values(secrets)).size).toBe(3);
    expect((await stat(join(folder, "secrets.json"))).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(["secrets.json"]);
  });

  it("stay the same at later starts, and the file is not written again", async () => {
    const folder = await scene.folder();
    const first = await loadOrCreateSecrets(folder, ["jwt", "boot"]);
    const { ino } = await stat(join(folder, "secrets.json"));
    expect(await loadOrCreateSecrets(folder, ["boot", "jwt"])).toEqual(first);
    expect((await stat(join(folder, "secrets.json"))).ino).toBe(ino);
  });

  it("gain new names without touching old ones, also those not asked for", async () => {
    const folder = await scene.folder();
    const { jwt } = await loadOrCreateSecrets(folder, ["jwt"]);
    const later = await loadOrCreateSecrets(folder, ["mail"]);
    expect(Object.keys(later)).toEqual(["mail"]);
    expect(await loadOrCreateSecrets(folder, ["jwt", "mail"])).toEqual({ jwt, ...later });
  });

  it("survive a write that was cut off", async () => {
    const folder = await scene.folder();
    const first = await loadOrCreateSecrets(folder, ["jwt"]);
    await writeFile(join(folder, "secrets.json.new"), '{"jw', { mode: 0o644 });
    expect(await loadOrCreateSecrets(folder, ["jwt", "boot"])).toMatchObject(first);
    expect((await stat(join(folder, "secrets.json"))).mode & 0o777).toBe(0o600);
  });

  it("are closed to others again when the file was opened to them", async () => {
    const folder = await scene.folder();
    await loadOrCreateSecrets(folder, ["jwt"]);
    await chmod(join(folder, "secrets.json"), 0o644);
    await loadOrCreateSecrets(folder, ["jwt"]);
    expect((await stat(join(folder, "secrets.json"))).mode & 0o777).toBe(0o600);
  });
});

describe("a damaged secrets file", () => {
  it.each([
    ["empty", ""],
    ["cut off", '{"jwt": "AAAA'],
    ["a list", "[]"],
    ["null", "null"],
    ["a number as a secret", '{"jwt": 1}'],
    ["an empty secret", '{"jwt": ""}'],
    ["a short secret", '{"jwt": "c2hvcnQ"}'],
    ["a damaged secret nobody asked for", '{"other": null}'],
  ])("is refused and left as it is: %s", async (_what, text) => {
    const folder = await scene.folder();
    const file = join(folder, "secrets.json");
    await writeFile(file, text);
    const attempt = loadOrCreateSecrets(folder, ["jwt"]);
    await expect(attempt).rejects.toThrow(StartError);
    await expect(attempt).rejects.toThrow(`${file} is damaged`);
    expect(await readFile(file, "utf8")).toBe(text);
  });

  it("is refused when it is a folder", async () => {
    const folder = await scene.folder();
    await mkdir(join(folder, "secrets.json"));
    await expect(loadOrCreateSecrets(folder, ["jwt"])).rejects.toMatchObject(
      startError(`${join(folder, "secrets.json")} cannot be read: a folder stands where a file is needed.`),
    );
  });

  it("is refused when the folder does not exist", async () => {
    const folder = join(await scene.folder(), "none");
    await expect(loadOrCreateSecrets(folder, ["jwt"])).rejects.toThrow(StartError);
  });
});
