// A tenant's keys, unwrapped, as a process holds them for a while: they seal, open and index that tenant's texts.
import { createSecretKey, type KeyObject } from "node:crypto";
import { blindIndex } from "./blind-index.ts";
import { keyIdOf, open, seal } from "./ciphertext.ts";
import { SealedFieldNames } from "./sealed-field-names.ts";
import type { SealedColumn, SealedTable } from "./registry.ts";
import { SealBroken } from "./seal-broken.ts";
import type { KeyPurpose } from "./wrapping.ts";

/** A key as `crypto.keys` answers it; the key itself in base64. */
export interface KeyOnWire {
  id: number;
  purpose: KeyPurpose;
  state: "primary" | "decrypt_only";
  key: string;
}

export interface UseCount {
  seals: number;
}

export class TenantKeys {
  readonly tenantId: number;
  /** Of the key that seals. */
  readonly fieldKeyId: number;
  readonly #fields = new Map<number, KeyObject>();
  readonly #primary: KeyObject;
  readonly #index: KeyObject;
  readonly #uses: UseCount;
  readonly #places: SealedFieldNames;

  /** @param usesOf counts the seals of a key for as long as the process lives, longer than this object */
  constructor(tenantId: number, keys: readonly KeyOnWire[], usesOf: (keyId: number) => UseCount) {
    this.tenantId = tenantId;
    this.#places = new SealedFieldNames(tenantId);
    for (const each of keys) {
      if (each.purpose === "field") this.#fields.set(each.id, toKey(each));
    }
    const primary = (purpose: KeyPurpose): KeyOnWire => {
      const found = keys.find((each) => each.purpose === purpose && each.state === "primary");
      if (found === undefined) throw new Error(`tenant ${tenantId} has no primary ${purpose} key`);
      return found;
    };
    const field = primary("field");
    this.fieldKeyId = field.id;
    this.#primary = toKey(field);
    this.#index = toKey(primary("index"));
    this.#uses = usesOf(field.id);
  }

  /** How often this process has sealed with the present key. */
  get seals(): number {
    return this.#uses.seals;
  }

  seal<T extends SealedTable>(table: T, column: SealedColumn<T>, rowId: number, text: string): Buffer {
    this.#uses.seals++;
    return seal(this.fieldKeyId, this.#primary, this.#places.of(table, column, rowId), text);
  }

  /** @throws SealBroken */
  open<T extends SealedTable>(table: T, column: SealedColumn<T>, rowId: number, sealed: Buffer): string {
    const key = this.#fields.get(keyIdOf(sealed));
    if (key === undefined) throw new SealBroken("key");
    return open(key, this.#places.of(table, column, rowId), sealed);
  }

  /** For memory, not for a column: `what` must be no table's name. */
  sealApart(what: `memory.${string}`, rowId: number, text: string): Buffer {
    this.#uses.seals++;
    return seal(this.fieldKeyId, this.#primary, this.#places.of(what, "", rowId), text);
  }

  /** @throws SealBroken */
  openApart(what: `memory.${string}`, rowId: number, sealed: Buffer): string {
    const key = this.#fields.get(keyIdOf(sealed));
    if (key === undefined) throw new SealBroken("key");
    return open(key, this.#places.of(what, "", rowId), sealed);
  }

  /** What opens with any of these keys, sealed with the present one; for the rotation, which walks the registry by name. */
  reseal(table: SealedTable, column: string, rowId: number, sealed: Buffer): Buffer {
    const key = this.#fields.get(keyIdOf(sealed));
    if (key === undefined) throw new SealBroken("key");
    const place = this.#places.of(table, column, rowId);
    this.#uses.seals++;
    return seal(this.fieldKeyId, this.#primary, place, open(key, place, sealed));
  }

  /** Whether the key that `sealed` names is among these; true also for what is no sealed text at all. */
  holdsKeyOf(sealed: Buffer): boolean {
    try {
      return this.#fields.has(keyIdOf(sealed));
    } catch {
      return true;
    }
  }

  blindIndex(column: string, normalised: string): Buffer {
    return blindIndex(this.#index, column, normalised);
  }
}

function toKey({ key }: KeyOnWire): KeyObject {
  return createSecretKey(key, "base64");
}
