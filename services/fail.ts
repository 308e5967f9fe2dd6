// How a program of ours ends that could not do its work: one sentence an operator can act on, or, for a fault of ours,
// the stack.
import { ConfigError } from "./shared/config.ts";
import { StartError } from "./shared/embedded/start-error.ts";

export function fail(error: unknown): never {
  const known = error instanceof StartError || error instanceof ConfigError;
  process.stderr.write(known ? `${error.message}\n` : `The service could not start.\n${stackOf(error)}\n`);
  process.exit(1);
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
