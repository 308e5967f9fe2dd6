// Checks a new master key: 32 bytes in one of three encodings, and not obviously non-random.

const keyBytes = 32;
const forms: readonly { pattern: RegExp; encoding: BufferEncoding }[] = [
  { pattern: /^[0-9a-f]{64}$/i, encoding: "hex" },
  { pattern: /^[A-Za-z0-9+/]{43}=?$/, encoding: "base64" },
  { pattern: /^[A-Za-z0-9_-]{43}=?$/, encoding: "base64url" },
];

/** 32 random bytes contain 30 different values on average, and fewer than 16 less than once in 10^13 keys. */
const differentBytesMin = 16;

/** The key, or the reason for refusing it. */
export type ReadKey = { key: Buffer } | { fault: string };

/** @returns the key's bytes, or the reason of a refusal, which never repeats the text */
export function readNewKey(text: string): ReadKey {
  const form = forms.find(({ pattern }) => pattern.test(text));
  const key = form && Buffer.from(text, form.encoding);
  // The last base64 character has unused bits. They must be zero, so that a key has only one form.
  const exact = form !== undefined && key !== undefined && isExact(key, form.encoding, text);
  if (key?.length !== keyBytes || !exact) {
    key?.fill(0);
    return { fault: "the key must be 32 bytes as base64, base64url or hex" };
  }
  if (isTrivial(key)) {
    key.fill(0);
    return { fault: "the key is not random" };
  }
  return { key };
}

function isExact(key: Buffer, encoding: BufferEncoding, text: string): boolean {
  const again = key.toString(encoding);
  return encoding === "hex" ? again === text.toLowerCase() : unpadded(again) === unpadded(text);
}

const unpadded = (text: string) => text.replace(/=$/, "");

function isTrivial(key: Buffer): boolean {
  const step = ((key[1] ?? 0) - (key[0] ?? 0)) & 255;
  const isSeries = key.every((byte, at) => at === 0 || ((byte - (key[at - 1] ?? 0)) & 255) === step);
  const repeats = [1, 2, 4, 8, 16].some((period) =>
    key.every((byte, at) => at < period || byte === key[at - period]),
  );
  return isSeries || repeats || new Set(key).size < differentBytesMin;
}
