// Chance that can be played again: every fault test takes its decisions from one seed, which it prints.

/** SEED of the environment, or a new one; printed either way. */
export function seedOf(name: string): number {
  const given = Number(process.env["SEED"]);
  const seed = Number.isSafeInteger(given) && given > 0 ? given : 1 + Math.floor(Math.random() * 999_999);
  process.stdout.write(`${name}: play it again with SEED=${seed} npm run test:faults -- ${name}\n`);
  return seed;
}

/** Whole numbers from 0 to `below`, the same for the same seed. */
export function dice(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    // mulberry32, in the public domain.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
