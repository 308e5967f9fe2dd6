// Ends a program that could not do its work. It prints one sentence that an operator can act on, or the stack for a bug. In
// production, where programs read the output, it writes log entries.
import { ConfigError } from "./settings/config.ts";
import { propertyOf, StartError } from "../services/shared/start-error.ts";
import { createLog } from "./process/log.ts";
import { isProduction } from "./settings/entry.ts";

/** Raised by a migration that rejects the database; its message is for the operator. */
const migrationRefuses = "RM001";
const standardError = 2;
const unable = "The service could not start.";

/** Prints the error and exits with 1. @param environment of a program of the service; absent for programs that a person runs */
export function fail(error: unknown, environment: NodeJS.ProcessEnv = {}): never {
  printFailure(
    error,
    isProduction((name) => environment[name]?.trim()),
  );
  process.exit(1);
}

/** Prints to stderr why the program cannot continue. */
export function printFailure(error: unknown, production: boolean): void {
  const sentences = sentencesOf(error);
  if (!production) {
    process.stderr.write(`${sentences?.join("\n") ?? `${unable}\n${stackOf(error)}`}\n`);
    return;
  }
  const { log, flush } = createLog("fatal", standardError);
  if (sentences === undefined) log.fatal({ err: error }, unable);
  else for (const sentence of sentences) log.fatal(sentence);
  flush();
}

function sentencesOf(error: unknown): readonly string[] | undefined {
  if (error instanceof ConfigError) return error.faults;
  if (error instanceof StartError) return [error.message];
  return propertyOf(error, "code") === migrationRefuses ? [String(propertyOf(error, "message"))] : undefined;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
