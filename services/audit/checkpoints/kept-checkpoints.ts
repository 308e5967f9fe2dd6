// What the folder of checkpoints says, remembered: of each tenant the head that was signed last, and of all the last document.
// Read once from the beginning, and then on from where the reading ended, as another process may add to the folder too.
import {
  type Checkpoint,
  type Head,
  hashOf,
  readCheckpoint,
  type Signed,
  traceOf,
} from "./checkpoint.rules.ts";
import type { CheckpointFolder, Position } from "./checkpoint-folder.ts";
import type { PublicKeys } from "./signing-key.ts";

export interface LastDocument {
  number: number;
  /** ISO 8601. */
  at: string;
  /** Of its line. */
  hash: string;
}

/** Whoever has more tenants has the others' from the database. */
const headsMax = 200_000;

export class KeptCheckpoints {
  readonly #folder: CheckpointFolder;
  #keys: PublicKeys;
  readonly #heads = new Map<number, Head>();
  #last: LastDocument | undefined;
  #read: Position | undefined;

  /** @param keys that are trusted beside those in the folder */
  constructor(folder: CheckpointFolder, keys: PublicKeys) {
    this.#folder = folder;
    this.#keys = keys;
  }

  get last(): LastDocument | undefined {
    return this.#last;
  }

  /** By tenant. */
  get heads(): ReadonlyMap<number, Head> {
    return this.#heads;
  }

  /** @throws the system's errors, when the folder cannot be read */
  async refresh(): Promise<void> {
    this.#keys = new Map([...(await this.#folder.keys()), ...this.#keys]);
    for await (const { line, next } of this.#folder.lines(this.#read)) {
      this.#read = next;
      const document = readCheckpoint(line, this.#keys);
      // One that stands there twice (two processes were at it) says nothing new.
      if (document === undefined || document.number <= (this.#last?.number ?? 0)) continue;
      this.#last = { number: document.number, at: document.at, hash: hashOf(line) };
      for (const head of document.heads) {
        if (this.#heads.size < headsMax || this.#heads.has(head.tenant_id))
          this.#heads.set(head.tenant_id, head);
      }
    }
  }
}

/** The hashes that the folder says a tenant's entries have, by number; what was signed as unproved is no measure. */
export async function signedHashes(
  folder: CheckpointFolder,
  ownKeys: PublicKeys,
  tenantId: number,
): Promise<Map<number, string>> {
  const keys = new Map([...(await folder.keys()), ...ownKeys]);
  const found = new Map<number, string>();
  const trace = traceOf(tenantId);
  for await (const { line } of folder.lines()) {
    if (!line.includes(trace)) continue;
    const head = headOf(readCheckpoint(line, keys), tenantId);
    // The first word on an entry counts: whoever rewrites comes after it.
    if (head?.verified === true && !found.has(head.seq)) found.set(head.seq, head.hash);
  }
  return new Map([...found].sort(([a], [b]) => a - b));
}

export function headOf(document: Signed<Checkpoint> | undefined, tenantId: number): Head | undefined {
  return document?.heads.find((head) => head.tenant_id === tenantId);
}
