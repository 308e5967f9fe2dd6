// Creates a folder with its parents. Node's own `recursive` never returns where the system reports ENOENT for an existing folder,
// as /proc does.
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { errorCode } from "./start-error.ts";

/** Leaves an existing file or folder unchanged. @param folder absolute path @throws the system's errors */
export async function makeFolder(folder: string, mode: number): Promise<void> {
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    if (errorCode(error) === "EEXIST") return;
    if (errorCode(error) !== "ENOENT" || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder), mode);
    await mkdir(folder, { mode }).catch(unlessThere);
  }
}

/** Another process may have been faster. */
function unlessThere(error: unknown): void {
  if (errorCode(error) !== "EEXIST") throw error;
}
