// When a schedule is due, by the process's own clock, whatever that clock does: set back, it is due again from the next
// minute on instead of after the hour that is repeated; set ahead, or after a process that stood still, the newest of what
// was passed over is made up for, up to a day. The database takes each occurrence once (add_due_task), so nothing is doubled.
import { createTask, parse } from "node-cron";
import { pause } from "../../services/shared/pause.ts";

const minuteMs = 60_000;
/** The database refuses what is more than a day from its clock. */
const madeUpMinutesMax = 24 * 60 - 5;

/** Of the machine; tests bring one that they can set. */
export interface WallClock {
  /** In ms since 1970; may jump. */
  now(): number;
  /** In ms that pass, whatever `now` says; ends early at the signal. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export const wallClock: WallClock = { now: () => Date.now(), wait: pause };

export class Occurrences {
  readonly #isAt: (at: Date) => boolean;
  /** The last minute that needs no look any more. */
  #settled: number;

  /** @param cron in UTC, of five fields, or six, of which the seconds are left out @param nowMs what was before is not made up for */
  constructor(cron: string, nowMs: number) {
    const byMinute = cron.trim().split(/\s+/).slice(-5).join(" ");
    const task = createTask(byMinute, () => {}, { timezone: "UTC" });
    const { minute: minutes, hour: hours } = parse(byMinute);
    // A match costs 0.2 ms, and after a jump up to a day of minutes is gone through: most of them are told by these two.
    this.#isAt = (at) =>
      minutes.includes(at.getUTCMinutes()) && hours.includes(at.getUTCHours()) && task.match(at);
    this.#settled = minuteOf(nowMs);
  }

  /** @returns the newest that is due and was not settled */
  due(nowMs: number): Date | undefined {
    const newest = minuteOf(nowMs);
    // The clock was set back: what comes from here on is due once more, as far as the database has not had it.
    this.#settled = Math.min(this.#settled, newest);
    const oldest = Math.max(this.#settled, newest - madeUpMinutesMax);
    for (let minute = newest; minute > oldest; minute--) {
      const at = new Date(minute * minuteMs);
      if (this.#isAt(at)) return at;
    }
    this.#settled = newest;
    return undefined;
  }

  /** It was enqueued: neither it nor what was before it is due any more. */
  settle(at: Date): void {
    this.#settled = Math.max(this.#settled, minuteOf(at.getTime()));
  }
}

const minuteOf = (ms: number) => Math.floor(ms / minuteMs);

/**
 * Until the signal. Looks once a minute at least, as a timer of hours would not notice that the clock was set.
 * @param enqueue whether it was done; if not, it is tried again in the next minute
 */
export async function eachOccurrence(
  cron: string,
  clock: WallClock,
  signal: AbortSignal,
  enqueue: (at: Date) => Promise<boolean>,
): Promise<void> {
  const occurrences = new Occurrences(cron, clock.now());
  while (!signal.aborted) {
    await clock.wait(minuteMs - (clock.now() % minuteMs), signal);
    const at = signal.aborted ? undefined : occurrences.due(clock.now());
    if (at !== undefined && (await enqueue(at))) occurrences.settle(at);
  }
}
