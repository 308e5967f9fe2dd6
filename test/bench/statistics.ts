// Medians and percentiles.

function sorted(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b);
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** By nearest rank; NaN of nothing. */
export function percentile(values: readonly number[], percent: number): number {
  const ordered = sorted(values);
  return ordered[Math.max(0, Math.ceil((percent / 100) * ordered.length) - 1)] ?? Number.NaN;
}
