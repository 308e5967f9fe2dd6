// Compares versions of the program, such as "1.10.2".

/** @returns a negative number if `one` is the earlier version; the part after a hyphen ("0.2.0-rc.1") is ignored */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)];
  const at = a.findIndex((part, index) => part !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/** @throws Error for a text that is not a version: a comparison would have a random result */
function partsOf(version: string): number[] {
  const [, ...parts] = /^(\d+)\.(\d+)\.(\d+)(?:-[\w.-]+)?$/.exec(version) ?? [];
  if (parts.length === 0) throw new Error(`not a version: ${version}`);
  return parts.map(Number);
}

/** @returns the later of two versions */
export const laterOf = (one: string, other: string): string =>
  compareVersions(one, other) < 0 ? other : one;
