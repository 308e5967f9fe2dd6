// The end of a command: its exit code, and the message if it did not succeed.
import { ConfigError } from "../host/settings/config.ts";
import { propertyOf, StartError } from "../services/shared/start-error.ts";
import { exposedFacts } from "../services/shared/errors.ts";
import { errorLine } from "./show.ts";

/** 130 is the code of shells for a program that was ended by Ctrl-C. */
export const exitCodes = { done: 0, failed: 1, misused: 2, unreached: 3, leftAlone: 130 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export const exitMeanings: readonly (readonly [ExitCode, string])[] = [
  [exitCodes.done, "done"],
  [exitCodes.failed, "refused, or failed: the sentence says why"],
  [exitCodes.misused, "wrong use: a word, a value, a name or `--yes` is missing or wrong; nothing was done"],
  [exitCodes.unreached, "no service was reached, or it did not answer in time: it may have been done"],
  [exitCodes.leftAlone, "left alone by Ctrl-C: the durable job goes on"],
];

/** The command was used wrongly. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}

/** The object of the command does not exist, or its state does not allow it. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}

/** The operator stopped waiting. */
export class LeftAlone extends Error {
  override readonly name = "LeftAlone";
}

/** No service could be reached. */
export class Unreached extends Error {
  override readonly name = "Unreached";
}

/** Moleculer's codes for a call that reached no node, or was not answered. */
const codesOfTheBus = new Set<unknown>([
  "SERVICE_NOT_FOUND",
  "SERVICE_NOT_AVAILABLE",
  "REQUEST_TIMEOUT",
  "REQUEST_REJECTED",
  "REQUEST_SKIPPED",
  "QUEUE_FULL",
]);

/** Whether the error means that no service was reached, or that it did not answer in time. */
export const isUnreached = (error: unknown): boolean =>
  error instanceof Unreached || codesOfTheBus.has(typeOf(error));

const typeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "type" in error ? error.type : undefined;

/** @returns the exit code for an error */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof LeftAlone) return exitCodes.leftAlone;
  if (error instanceof Misuse || error instanceof ConfigError) return exitCodes.misused;
  if (isUnreached(error)) return exitCodes.unreached;
  return propertyOf(error, "code") === 422 ? exitCodes.misused : exitCodes.failed;
}

/** @returns the message for people */
export function sentenceOf(error: unknown): string {
  if (error instanceof ConfigError) return error.faults.join("\n");
  const isOurs = [Misuse, Refusal, LeftAlone, Unreached, StartError].some((kind) => error instanceof kind);
  return isOurs && error instanceof Error ? error.message : errorLine(error);
}

/** @returns the same for programs */
export function errorDocument(error: unknown): object {
  const facts = exposedFacts(error);
  const code = propertyOf(error, "code");
  const words: Readonly<Record<number, string>> = {
    [exitCodes.misused]: "misused",
    [exitCodes.unreached]: "unreached",
    [exitCodes.leftAlone]: "left_alone",
  };
  return {
    error: {
      code: facts === undefined ? (words[exitCodeOf(error)] ?? "failed") : String(typeOf(error)),
      status: facts === undefined || typeof code !== "number" ? null : code,
      message: facts === undefined || !(error instanceof Error) ? sentenceOf(error) : error.message,
      ...(facts?.failures === undefined ? {} : { failures: facts.failures }),
    },
  };
}
