// How a program of ours ends that could not do its work: one sentence an operator can act on, or, for a fault of ours,
// the stack.
import { ConfigError } from "./shared/config.ts";
import { propertyOf, StartError } from "./shared/embedded/start-error.ts";

/** Raised by a migration that refuses the database it finds; its message is for the operator. */
const migrationRefuses = "RM001";

export function fail(error: unknown): never {
  process.stderr.write(`${sentenceOf(error) ?? `The service could not start.\n${stackOf(error)}`}\n`);
  process.exit(1);
}

function sentenceOf(error: unknown): string | undefined {
  if (error instanceof StartError || error instanceof ConfigError) return error.message;
  return propertyOf(error, "code") === migrationRefuses ? String(propertyOf(error, "message")) : undefined;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
