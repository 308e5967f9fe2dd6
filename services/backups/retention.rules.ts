// Which scheduled backups are kept: the newest of each of the last days, weeks and months that have one.
// Requested backups are kept until a person deletes them; safety backups for a limited time.

/** A scheduled backup. */
export interface Kept {
  id: string;
  takenAt: Date;
}

const days = 7;
const weeks = 4;
const months = 12;
/** Days for which a safety backup is kept. */
export const safetyDays = 30;

const dayMs = 86_400_000;

const dayOf = (at: Date) => at.toISOString().slice(0, 10);
const monthOf = (at: Date) => at.toISOString().slice(0, 7);
/** Weeks begin on Mondays; 1970 began on a Thursday. */
const weekOf = (at: Date) => String(Math.floor((at.getTime() / dayMs + 3) / 7));

/** @returns the backups of one scope that are not kept; never the newest */
export function toRemove(backups: readonly Kept[]): string[] {
  const newestFirst = [...backups].sort((a, b) => b.takenAt.getTime() - a.takenAt.getTime());
  const kept = new Set<string>();
  for (const [periodOf, max] of [
    [dayOf, days],
    [weekOf, weeks],
    [monthOf, months],
  ] as const) {
    const periods = new Set<string>();
    for (const { id, takenAt } of newestFirst) {
      const period = periodOf(takenAt);
      if (periods.has(period)) continue;
      if (periods.size === max) break;
      periods.add(period);
      kept.add(id);
    }
  }
  return newestFirst.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
}
