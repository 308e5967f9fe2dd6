// Versions of the program, "1.10.2", in their order.

/** @returns below zero where `one` is the earlier of the two; what follows a hyphen ("0.2.0-rc.1") is not looked at */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)];
  const at = a.findIndex((part, index) => part !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/** @throws Error for what is no version: a comparison with it would decide by chance */
function partsOf(version: string): number[] {
  const [, ...parts] = /^(\d+)\.(\d+)\.(\d+)(?:-[\w.-]+)?$/.exec(version) ?? [];
  if (parts.length === 0) throw new Error(`no version: ${version}`);
  return parts.map(Number);
}

export const laterOf = (one: string, other: string): string =>
  compareVersions(one, other) < 0 ? other : one;
