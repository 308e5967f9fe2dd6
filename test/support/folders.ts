// Folders of a test's database, named by the process that made them, so that the guard can remove those of one that was
// killed. The server's own files stand in memory where there is enough of it: a copy costs a quarter, and no disk is written.
import { mkdtemp, rm, statfs, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const memory = "/dev/shm";
/** Of all that run at once, with room for much more than they ever held. Containers often have 64 MB. */
const memoryBytesMin = 8 * 2 ** 30;

export const folderPrefix = (pid: number): string => `records-test-${pid}-`;

/** Where there may be folders of a killed process. */
export const places = (): string[] => [memory, tmpdir()];

export interface DatabaseFolder {
  path: string;
  remove(): Promise<void>;
}

/** @returns a new folder; `forCopy`: in which `postgres` may be a link into memory, as initdb takes none */
export async function makeDatabaseFolder({ forCopy = false } = {}): Promise<DatabaseFolder> {
  const prefix = folderPrefix(process.pid);
  const path = await mkdtemp(join(tmpdir(), prefix));
  const cluster = forCopy && (await hasRoom()) ? await mkdtemp(join(memory, prefix)) : undefined;
  if (cluster !== undefined) await symlink(cluster, join(path, "postgres"));
  return {
    path,
    async remove() {
      for (const folder of [path, cluster]) {
        if (folder !== undefined) await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

async function hasRoom(): Promise<boolean> {
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize >= memoryBytesMin;
}
