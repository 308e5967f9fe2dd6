// Making a folder with all above it. Node's own `recursive` never comes back where the system says of a folder that is
// there that something is missing in it, as /proc does.
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { errorCode } from "./start-error.ts";

/** What is there already stays as it is, also if it is no folder. @param folder absolute @throws the system's errors */
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

/** Another process may have been quicker. */
function unlessThere(error: unknown): void {
  if (errorCode(error) !== "EEXIST") throw error;
}
