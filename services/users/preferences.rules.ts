// Pure decisions about preferences.

export const settingsBytesMax = 65_536;

/** Top-level merge: null removes a key. @returns undefined when the result is larger than settings may be */
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
