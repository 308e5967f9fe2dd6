// The content of the folder of checkpoints in memory: the last signed head of each tenant, and the last
// document. The folder is read once from the beginning and then from the last position, because other
// processes may append to it too.
import {
  type Checkpoint,
  type Head,
  hashOf,
  readCheckpoint,
  type Signed,
  tenantMarker,
} from "./checkpoint.rules.ts";
import type { CheckpointFolder, Position } from "./checkpoint-folder.ts";
import type { PublicKeys } from "./signing-key.ts";

/** The last document. */
export interface LastDocument {
  number: number;
  /** ISO 8601. */
  at: string;
  /** The hash of its line. */
  hash: string;
}

/** Bound of tenants in memory. The heads of further tenants are taken from the database. */
const headsMax = 200_000;

/** The state of the folder. */
export class FolderState {
  readonly #folder: CheckpointFolder;
  #keys: PublicKeys;
  readonly #heads = new Map<number, Head>();
  #last: LastDocument | undefined;
  #read: Position | undefined;

  /** @param keys trusted in addition to those in the folder */
  constructor(folder: CheckpointFolder, keys: PublicKeys) {
    this.#folder = folder;
    this.#keys = keys;
  }

  get last(): LastDocument | undefined {
    return this.#last;
  }

  /** The last signed heads, by tenant. */
  get heads(): ReadonlyMap<number, Head> {
    return this.#heads;
  }

  /** Reads the lines that were appended. @throws errors of the file system when the folder cannot be read */
  async refresh(): Promise<void> {
    this.#keys = new Map([...(await this.#folder.keys()), ...this.#keys]);
    for await (const { line, next } of this.#folder.lines(this.#read)) {
      this.#read = next;
      const document = readCheckpoint(line, this.#keys);
      // A document that two processes appended is skipped the second time.
      if (document === undefined || document.number <= (this.#last?.number ?? 0)) continue;
      this.#last = { number: document.number, at: document.at, hash: hashOf(line) };
      for (const head of document.heads) {
        if (this.#heads.size < headsMax || this.#heads.has(head.tenant_id))
          this.#heads.set(head.tenant_id, head);
      }
    }
  }
}

/**
 * The hashes of a tenant's entries according to the folder, by number. Heads that were signed as not verified
 * are left out.
 */
export async function signedHashes(
  folder: CheckpointFolder,
  ownKeys: PublicKeys,
  tenantId: number,
): Promise<Map<number, string>> {
  const keys = new Map([...(await folder.keys()), ...ownKeys]);
  const found = new Map<number, string>();
  const marker = tenantMarker(tenantId);
  for await (const { line } of folder.lines()) {
    if (!line.includes(marker)) continue;
    const head = headOf(readCheckpoint(line, keys), tenantId);
    // The first checkpoint of an entry counts: an attacker can only append later ones.
    if (head?.verified === true && !found.has(head.seq)) found.set(head.seq, head.hash);
  }
  return new Map([...found].sort(([a], [b]) => a - b));
}

/** The tenant's head in a document, if there is one. */
export function headOf(document: Signed<Checkpoint> | undefined, tenantId: number): Head | undefined {
  return document?.heads.find((head) => head.tenant_id === tenantId);
}
