// The checkpoints in the database, until they are exported. The owner of the database could alter them, so a
// row is used only if one of our keys has signed it. Any other row was inserted by somebody else; it is
// deleted and logged.
import { Caller } from "../../shared/caller.ts";
import type { Database } from "../../shared/database/database.ts";
import { platform } from "../../shared/database/scope.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import { type Checkpoint, type Head, hashOf, readCheckpoint, type Signed } from "./checkpoint.rules.ts";
import type { LastDocument } from "./folder-state.ts";
import { keyIdOf, type PublicKeys, readPublicKey, type SigningKey } from "./signing-key.ts";
import type { Column, RowOf } from "../../shared/database/row.ts";

/** A checkpoint with its signature verified. */
export interface Row {
  document: Signed<Checkpoint>;
  line: string;
}

/** A checkpoint to store. */
export interface NewCheckpoint {
  number: number;
  line: string;
  heads: readonly Head[];
  /** The number of the first faulty entry found, by tenant. */
  firstBad: ReadonlyMap<number, number>;
}

const keysMax = 1_000;

/** Reads and stores checkpoints in the database. */
export class CheckpointRows {
  readonly #db: Database;
  readonly #log: Runtime["log"];
  readonly #key: SigningKey;
  #keys: PublicKeys | undefined;

  constructor({ database, log }: Pick<Runtime, "database" | "log">, key: SigningKey) {
    this.#db = database;
    this.#log = log;
    this.#key = key;
  }

  /** The last checkpoint whose signature is valid. */
  async last(): Promise<LastDocument | undefined> {
    for (;;) {
      const row = await this.#db.readOne<
        RowOf<"audit_checkpoints", "number", { line: Column<"audit_checkpoints", "document"> }>
      >(platform, {
        name: "audit.last_checkpoint",
        text: "select number, document as line from audit_checkpoints order by number desc limit 1",
        values: [],
      });
      if (row === undefined) return undefined;
      const document = await this.#read(Number(row.number), row.line);
      if (document !== undefined) return { number: document.number, at: document.at, hash: hashOf(row.line) };
    }
  }

  /** The next checkpoints after `number`, in order. */
  async after(number: number, limit: number): Promise<Row[]> {
    const found = await this.#db.read<
      RowOf<"audit_checkpoints", "number", { line: Column<"audit_checkpoints", "document"> }>
    >(platform, {
      name: "audit.checkpoints_after",
      text: "select number, document as line from audit_checkpoints where number > $1 order by number limit $2",
      values: [number, limit],
    });
    const rows: Row[] = [];
    for (const { number: each, line } of found) {
      const document = await this.#read(Number(each), line);
      if (document !== undefined) rows.push({ document, line });
    }
    // If none of a full page is valid, continues after it, so that the checkpoints behind it are not blocked.
    return rows.length === 0 && found.length === limit
      ? this.after(Number(found.at(-1)?.number), limit)
      : rows;
  }

  /**
   * Stores a checkpoint, and its heads as the positions to continue from.
   * @returns false when another process has stored one with this number meanwhile; nothing is stored then
   */
  store({ number, line, heads, firstBad }: NewCheckpoint): Promise<boolean> {
    return this.#db.change(platform, Caller.system("audit"), async (change) => {
      const tenants = heads.map(({ tenant_id: id }) => id);
      const kept = await change.execute(
        `insert into audit_checkpoints (number, document, tenant_ids) values ($1, $2, $3)
         on conflict do nothing returning number`,
        [number, line, tenants],
      );
      if (kept.length === 0) return false;
      await change.execute(
        "insert into audit_signing_keys (key_id, public_key) values ($1, $2) on conflict do nothing",
        [this.#key.id, this.#key.publicText],
      );
      await change.execute(keepHeads, [
        tenants,
        heads.map(({ seq }) => seq),
        heads.map(({ hash }) => hash),
        tenants.map((id) => firstBad.get(id) ?? null),
      ]);
      return true;
    });
  }

  async #read(number: number, line: string): Promise<Signed<Checkpoint> | undefined> {
    this.#keys ??= await this.#knownKeys();
    const document = readCheckpoint(line, this.#keys);
    if (document?.number === number) return document;
    this.#log.error({ number }, "a checkpoint in the database is none of ours and was taken out");
    await this.#db.write(platform, Caller.system("audit"), {
      text: "delete from audit_checkpoints where number = $1",
      values: [number],
    });
    return undefined;
  }

  async #knownKeys(): Promise<PublicKeys> {
    const rows = await readKeys(this.#db);
    return new Map([
      ...rows.flatMap(({ public_key: pem }) => {
        const key = readPublicKey(pem);
        return key === undefined ? [] : [[keyIdOf(key), key] as const];
      }),
      [this.#key.id, this.#key.publicKey],
    ]);
  }
}

/** All public keys that were ever used in this installation, the newest first. */
export function readKeys(db: Database): Promise<{ key_id: string; public_key: string }[]> {
  return db.read(platform, {
    name: "audit.signing_keys",
    text: `select key_id, public_key from audit_signing_keys order by first_used_at desc, key_id limit ${keysMax}`,
    values: [],
  });
}

const keepHeads = `insert into audit_proofs (tenant_id, seq, hash, first_bad_seq)
  select tenant_id, seq, decode(hash, 'hex'), first_bad
    from unnest($1::integer[], $2::bigint[], $3::text[], $4::bigint[]) made (tenant_id, seq, hash, first_bad)
  on conflict (tenant_id) do update set seq = excluded.seq, hash = excluded.hash, signed_at = now(),
    first_bad_seq = least(audit_proofs.first_bad_seq, excluded.first_bad_seq)`;
