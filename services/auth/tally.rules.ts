// Counts events of the last 24 hours, by the hour: small enough to store in a row, and exact enough for a
// limit over any 24 hours. Pure functions: the time is a parameter. Plain JSON.

/** Pairs of the hour since 1970 and the number of events in it. The newest hour is last. */
export type Tally = readonly (readonly [hour: number, times: number])[];

const hourMs = 3_600_000;
/** One more than a day has: the current hour is incomplete, so 25 hours are needed to cover the last 24. */
const hoursKept = 25;

/**
 * Number of events in the last day. After a clock was set back, hours in the future count for at most a day.
 */
export function countOfLastDay(tally: Tally, nowMs: number): number {
  return recentHours(tally, nowMs).reduce((sum, [, times]) => sum + times, 0);
}

/** The tally with one more event and without expired hours. */
export function increment(tally: Tally, nowMs: number): Tally {
  const hour = hourOf(nowMs);
  const others = recentHours(tally, nowMs).filter(([counted]) => counted !== hour);
  const [, times] = tally.find(([counted]) => counted === hour) ?? [hour, 0];
  return [...others, [hour, times + 1]];
}

function recentHours(tally: Tally, nowMs: number): Tally {
  return tally.filter(([hour]) => Math.abs(hourOf(nowMs) - hour) < hoursKept);
}

const hourOf = (ms: number) => Math.floor(ms / hourMs);
