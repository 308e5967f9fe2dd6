// The life of an incident and the guards of a fix: when a remedy is tried again, and when it is not tried any more.

export const incidentStatuses = ["open", "healing", "healed", "failed", "ended", "dismissed"] as const;
export type IncidentStatus = (typeof incidentStatuses)[number];

/**
 * open: waits for a person, or for its turn. healing: its remedy runs. healed: the detector fell silent after the remedy.
 * failed: five tries did not help; it ends when the fault is not found any more. ended: the fault went away by itself.
 * dismissed: its fix was deleted.
 */
export const transitions: Readonly<Record<IncidentStatus, readonly IncidentStatus[]>> = {
  open: ["healing", "ended", "dismissed"],
  healing: ["healed", "open", "failed", "ended", "dismissed"],
  failed: ["open", "dismissed"],
  healed: [],
  ended: [],
  dismissed: [],
};

export const triesMax = 5;
/** A try takes two minutes at most; whoever has not ended by then died. */
export const deadSeconds = 180;
/** A fault that comes back at a target that was mended so recently is not mended again by itself. */
export const cooldownSeconds = 3_600;
/** What lies further in the future was written before the clock went back, and is not waited for. */
export const aheadSecondsMax = 60;
const triesWatched = 10;
const failuresMax = 5;
const massMin = 5;
const massShare = 0.4;

/** Before the next try: a minute, then twice as long each time. @param tries that were made */
export function waitSeconds(tries: number): number {
  return 60 * 2 ** Math.max(0, Math.min(tries, triesMax) - 1);
}

/** @param outcomes of a fix's tries since it was confirmed, newest first: whether each helped */
export function failsTooOften(outcomes: readonly boolean[]): boolean {
  return outcomes.slice(0, triesWatched).filter((helped) => !helped).length > failuresMax;
}

/**
 * So many at once are one fault elsewhere (a wrong setting, a restored disk): mending each would make it worse.
 * @param targets that could be at fault; null where there is no such number
 */
export function isMassEvent(found: number, targets: number | null): boolean {
  return targets !== null && found >= massMin && found > targets * massShare;
}

/** What operators are told, and why a person is needed. */
export type Need = "no_remedy" | "unconfirmed" | "failed" | "suspended_failures" | "suspended_mass";
