// The states of an incident and the guards of a fix: when a remedy is retried, and when it is suspended.

export const incidentStatuses = ["open", "healing", "healed", "failed", "ended", "dismissed"] as const;
export type IncidentStatus = (typeof incidentStatuses)[number];

/**
 * open: waits for a person or for its next attempt. healing: its remedy is running. healed: the detector no
 * longer finds it after the remedy. failed: five attempts did not help; it ends when the fault is not found
 * any more. ended: the fault disappeared by itself. dismissed: its fix was deleted.
 */
export const transitions: Readonly<Record<IncidentStatus, readonly IncidentStatus[]>> = {
  open: ["healing", "ended", "dismissed"],
  healing: ["healed", "open", "failed", "ended", "dismissed"],
  failed: ["open", "dismissed"],
  healed: [],
  ended: [],
  dismissed: [],
};

/** Attempts per incident. */
export const triesMax = 5;
/** An attempt takes at most two minutes. After this time its process is considered dead. */
export const deadSeconds = 180;
/** A fault that returns at a target within this time after its healing is not healed automatically. */
export const cooldownSeconds = 3_600;
/** A time further in the future was written before the clock was set back, and is ignored. */
export const aheadSecondsMax = 60;
const triesWatched = 10;
const failuresMax = 5;
const massMin = 5;
const massShare = 0.4;

/** Delay before the next attempt: a minute, doubled with each attempt. @param tries attempts made */
export function waitSeconds(tries: number): number {
  return 60 * 2 ** Math.max(0, Math.min(tries, triesMax) - 1);
}

/**
 * Whether more than five of the last ten attempts failed.
 * @param outcomes whether each attempt since the confirmation helped, newest first
 */
export function failsTooOften(outcomes: readonly boolean[]): boolean {
  return outcomes.slice(0, triesWatched).filter((helped) => !helped).length > failuresMax;
}

/**
 * Whether so many targets are at fault that the cause must be elsewhere (a wrong setting, a restored disk).
 * Healing each would make it worse.
 * @param targets number of possible targets; null when unknown
 */
export function isMassEvent(found: number, targets: number | null): boolean {
  return targets !== null && found >= massMin && found > targets * massShare;
}

/** Why operators are notified. */
export type Need = "no_remedy" | "unconfirmed" | "failed" | "suspended_failures" | "suspended_mass";
