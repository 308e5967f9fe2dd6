// How often something happened within a day, by the hour: small enough to keep beside what it counts, and exact enough for
// a bound that holds over any 24 hours. Pure: the clock comes in. Plain JSON, so that any store can keep it.

/** The hour since 1970, and how often in it. The newest hour comes last. */
export type Tally = readonly (readonly [hour: number, times: number])[];

const hourMs = 3_600_000;
/** An hour more than a day: whatever part of the present hour is over, the last 24 hours are all among them. */
const hoursKept = 25;

/** How often within the last day. What a clock that was set back left in the future counts no longer than a day. */
export function timesIn(tally: Tally, nowMs: number): number {
  return lately(tally, nowMs).reduce((sum, [, times]) => sum + times, 0);
}

/** The tally with one more; hours that are over are gone from it. */
export function oneMore(tally: Tally, nowMs: number): Tally {
  const hour = hourOf(nowMs);
  const others = lately(tally, nowMs).filter(([counted]) => counted !== hour);
  const [, times] = tally.find(([counted]) => counted === hour) ?? [hour, 0];
  return [...others, [hour, times + 1]];
}

function lately(tally: Tally, nowMs: number): Tally {
  return tally.filter(([hour]) => Math.abs(hourOf(nowMs) - hour) < hoursKept);
}

const hourOf = (ms: number) => Math.floor(ms / hourMs);
