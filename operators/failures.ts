// How a command ends: its exit code, and what is said where it did not do what was wished.
import { ConfigError } from "../host/settings/config.ts";
import { propertyOf, StartError } from "../services/shared/start-error.ts";
import { exposedFacts } from "../services/shared/errors.ts";
import { errorLine } from "./show.ts";

/** 130 is what shells say of a program that Ctrl-C ended. */
export const exitCodes = { done: 0, failed: 1, misused: 2, unreached: 3, leftAlone: 130 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export const exitMeanings: readonly (readonly [ExitCode, string])[] = [
  [exitCodes.done, "done"],
  [exitCodes.failed, "refused, or failed: the sentence says why"],
  [exitCodes.misused, "wrong use: a word, a value, a name or `--yes` is missing or wrong; nothing was done"],
  [exitCodes.unreached, "no service was reached, or it did not answer in time: it may have been done"],
  [exitCodes.leftAlone, "left alone by Ctrl-C: the durable job goes on"],
];

/** The operator has to say it in another way. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}

/** What was looked up is not there, or stands in the way. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}

/** The operator does not wait for the end. */
export class LeftAlone extends Error {
  override readonly name = "LeftAlone";
}

/** There is no service that could be asked. */
export class Unreached extends Error {
  override readonly name = "Unreached";
}

/** Moleculer's own codes of a call that reached nobody, or was not answered. */
const codesOfTheBus = new Set<unknown>([
  "SERVICE_NOT_FOUND",
  "SERVICE_NOT_AVAILABLE",
  "REQUEST_TIMEOUT",
  "REQUEST_REJECTED",
  "REQUEST_SKIPPED",
  "QUEUE_FULL",
]);

export const isUnreached = (error: unknown): boolean =>
  error instanceof Unreached || codesOfTheBus.has(typeOf(error));

const typeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "type" in error ? error.type : undefined;

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof LeftAlone) return exitCodes.leftAlone;
  if (error instanceof Misuse || error instanceof ConfigError) return exitCodes.misused;
  if (isUnreached(error)) return exitCodes.unreached;
  return propertyOf(error, "code") === 422 ? exitCodes.misused : exitCodes.failed;
}

/** One line for people. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ConfigError) return error.faults.join("\n");
  const isOurs = [Misuse, Refusal, LeftAlone, Unreached, StartError].some((kind) => error instanceof kind);
  return isOurs && error instanceof Error ? error.message : errorLine(error);
}

/** The same for programs. */
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
