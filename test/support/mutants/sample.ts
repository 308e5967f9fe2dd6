// A sample that is the same for the same seed, on every machine.

/** @returns `size` of the list, in the list's order; all of it where there are no more */
export function sampleOf<T>(list: readonly T[], size: number, seed: number): T[] {
  const random = mulberry32(seed);
  const drawn = list.map((item, at) => ({ item, at, by: random() })).sort((a, b) => a.by - b.by);
  return drawn
    .slice(0, size)
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** Tommy Ettinger's generator of 32 bits: small, and good enough to choose from a list. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
