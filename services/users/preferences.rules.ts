// Pure decisions about preferences.

/** Bound of a user's settings, in bytes as JSON in UTF-8. */
export const settingsBytesMax = 65_536;

/**
 * Merges at the top level; null removes a key.
 * @returns undefined when the result exceeds `settingsBytesMax`
 */
export function mergeSettings(
  before: Record<string, unknown>,
  changes: Record<string, unknown>,
): Record<string, unknown> | undefined {
  const merged = new Map(Object.entries(before));
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) merged.delete(key);
    else merged.set(key, value);
  }
  const settings = Object.fromEntries(merged);
  return Buffer.byteLength(JSON.stringify(settings)) <= settingsBytesMax ? settings : undefined;
}
