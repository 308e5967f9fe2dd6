// Blind indexes, by which patients are found although their data are sealed: the whole name and the whole
// phone number.
import { normaliseName, normalisePhone } from "../shared/sealing/blind-index.ts";
import type { TenantKeys } from "../shared/sealing/tenant-keys.ts";

/** The blind index of a name, after normalisation. */
export function nameIndex(keys: TenantKeys, name: string): Buffer {
  return keys.blindIndex("full_name", normaliseName(name));
}

/** The blind index of a phone number; null for a text without digits. */
export function phoneIndex(keys: TenantKeys, phone: string): Buffer | null {
  const normalised = normalisePhone(phone);
  return normalised === "" ? null : keys.blindIndex("phone", normalised);
}

/** The index columns that change with these texts. */
export function blindIndexesOf(
  keys: TenantKeys,
  texts: { full_name?: string; phone?: string | null },
): Record<string, Buffer | null> {
  const { full_name: name, phone } = texts;
  return {
    ...(name === undefined ? {} : { full_name_index: nameIndex(keys, name) }),
    ...(phone === undefined ? {} : { phone_index: phone === null ? null : phoneIndex(keys, phone) }),
  };
}
