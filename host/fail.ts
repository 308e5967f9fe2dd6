// How a program of ours ends that could not do its work: one sentence an operator can act on, or, for a fault of ours,
// the stack. In production, where programs read it, as entries of the log like everything else.
import { ConfigError } from "./settings/config.ts";
import { propertyOf, StartError } from "../services/shared/start-error.ts";
import { createLog } from "./process/log.ts";
import { isProduction } from "./settings/entry.ts";

/** Raised by a migration that refuses the database it finds; its message is for the operator. */
const migrationRefuses = "RM001";
const standardError = 2;
const unable = "The service could not start.";

/** @param environment of a program of the service itself; what a person calls by hand says it to that person */
export function fail(error: unknown, environment: NodeJS.ProcessEnv = {}): never {
  complain(
    error,
    isProduction((name) => environment[name]?.trim()),
  );
  process.exit(1);
}

/** Says on standard error why the program cannot go on. */
export function complain(error: unknown, production: boolean): void {
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
