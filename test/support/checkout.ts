// A copy of this checkout's program in another place, as a fresh clone would be after `npm install`.
import { execFile } from "node:child_process";
import { cp, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const sources = [
  "install",
  "services",
  "mixins",
  "host",
  "operators",
  "migrations",
  "moleculer.config.ts",
  ".npmrc",
  "package.json",
  "package-lock.json",
];

/**
 * Copies sources; packages are hard links, or one symbolic link where the place is on another file system.
 * @param more names at the top of the checkout, beside the program's own
 */
export async function copyCheckout(folder: string, more: readonly string[] = []): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of [...sources, ...more])
    await cp(join(root, name), join(folder, name), { recursive: true });
  const [from, to] = [join(root, "node_modules"), join(folder, "node_modules")];
  await run("cp", ["-al", from, to]).catch(async () => {
    await run("rm", ["-rf", to]);
    await symlink(from, to);
  });
}

/** PATH without the folders that npm adds for its scripts: what a bare machine offers. */
export function systemPath(): string {
  const folders = (process.env["PATH"] ?? "").split(":");
  return folders.filter((each) => !each.includes("node_modules")).join(":");
}
