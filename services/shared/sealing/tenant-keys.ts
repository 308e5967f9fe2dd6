// The decrypted keys of a tenant, as a process caches them: they encrypt, decrypt and index the texts of that tenant.
import { createSecretKey, type KeyObject } from "node:crypto";
import { blindIndex } from "./blind-index.ts";
import { keyIdOf, open, seal } from "./ciphertext.ts";
import { SealedFieldNames } from "./sealed-field-names.ts";
import type { SealedColumn, SealedTable } from "./registry.ts";
import { SealBroken } from "./seal-broken.ts";
import type { KeyPurpose } from "./wrapping.ts";

/** A key as `crypto.keys` returns it; the key itself is in base64. */
export interface KeyOnWire {
  id: number;
  purpose: KeyPurpose;
  state: "primary" | "decrypt_only";
  key: string;
}

export interface UseCount {
  seals: number;
}

/** @throws Error if the tenant has no primary field key or index key */
export class TenantKeys {
  readonly tenantId: number;
  /** The id of the key that encrypts. */
  readonly fieldKeyId: number;
  readonly #fields = new Map<number, KeyObject>();
  readonly #primary: KeyObject;
  readonly #index: KeyObject;
  readonly #uses: UseCount;
  readonly #places: SealedFieldNames;

  /** @param usesOf the counter of a key's uses; it lives as long as the process, longer than this object */
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

  /** How many texts this process has encrypted with the current key. */
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

  /** For values in memory and not in a column: `what` must not be the name of a table. */
  sealInMemory(what: `memory.${string}`, rowId: number, text: string): Buffer {
    this.#uses.seals++;
    return seal(this.fieldKeyId, this.#primary, this.#places.of(what, "", rowId), text);
  }

  /** @throws SealBroken */
  openInMemory(what: `memory.${string}`, rowId: number, sealed: Buffer): string {
    const key = this.#fields.get(keyIdOf(sealed));
    if (key === undefined) throw new SealBroken("key");
    return open(key, this.#places.of(what, "", rowId), sealed);
  }

  /** Encrypts again with the current key. For the rotation, which processes the registry by name. @throws SealBroken */
  reseal(table: SealedTable, column: string, rowId: number, sealed: Buffer): Buffer {
    const key = this.#fields.get(keyIdOf(sealed));
    if (key === undefined) throw new SealBroken("key");
    const place = this.#places.of(table, column, rowId);
    this.#uses.seals++;
    return seal(this.fieldKeyId, this.#primary, place, open(key, place, sealed));
  }

  /** Whether the key named by `sealed` is present; also true for bytes that are not an encrypted text. */
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
