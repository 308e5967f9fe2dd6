// What an action may throw over the bus: errors of ours as they are, lost dependencies as 503, anything else as one
// constant 500. Raw errors of libraries and of the database stay on their node, where the log has them.
import { Errors } from "moleculer";
import { isContended, isLostServer, sqlStates } from "./database/sql-states.ts";
import { errorCode } from "./start-error.ts";
import { exposedFacts, ServiceError, tenantRestoring, Unavailable } from "./errors.ts";

const lostHost = /^(?:ECONN\w+|ENOENT|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND)$/;
const lostConnection =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Client has encountered)/;
const busFailures = new Set([
  "ServiceNotFoundError",
  "ServiceNotAvailableError",
  "ServiceUnavailableError",
  "RequestTimeoutError",
  "RequestSkippedError",
  "RequestRejectedError",
  "QueueIsFullError",
  "BrokerDisconnectedError",
  "ProtocolVersionMismatchError",
]);

/** Whether PostgreSQL is away, restarts, or has no room for another connection: the same may go well in a while. */
export function isLostDatabase(error: unknown): boolean {
  const code = errorCode(error);
  return (
    isLostServer(code) ||
    lostHost.test(code) ||
    (error instanceof Error && lostConnection.test(error.message))
  );
}

/** @returns what may be told to the caller, and whether the original deserves a line in the log */
export function translate(error: unknown): { publicError: Error; shouldLog: boolean } {
  if (error instanceof Error && exposedFacts(error) !== undefined)
    return { publicError: error, shouldLog: false };
  const name = error instanceof Error ? error.name : "";
  if (name === "PasswordQueueFull" || name === "PasswordWorkerLost") {
    return { publicError: new Unavailable("busy", "Too many sign-ins at the moment", 1), shouldLog: false };
  }
  const code = errorCode(error);
  if (busFailures.has(name) || isLostDatabase(error) || name === "ConnectionException") {
    return { publicError: new Unavailable(), shouldLog: true };
  }
  if (name === "SealBroken") {
    const sentence = "What is sealed here cannot be opened";
    return { publicError: new Unavailable("sealed_field_unreadable", sentence), shouldLog: true };
  }
  if (code === sqlStates.keyDestroyed)
    return { publicError: new Unavailable("busy", "The keys have just changed", 1), shouldLog: true };
  if (code === sqlStates.tenantFrozen) return { publicError: tenantRestoring(), shouldLog: false };
  if (code === sqlStates.queryCanceled || isContended(code))
    return { publicError: new Unavailable("busy", "Took too long"), shouldLog: true };
  return { publicError: new Errors.MoleculerError("Internal error", 500, "internal_error"), shouldLog: true };
}

/** The SQLSTATE's constraint name when `error` (or what it wraps) is the violation of one. */
export function violatedConstraint(error: unknown): string | undefined {
  for (
    let inner: unknown = error, depth = 0;
    inner instanceof Error && depth < 5;
    inner = inner.cause, depth++
  ) {
    if ("constraint" in inner && typeof inner.constraint === "string") return inner.constraint;
    if ("previous" in inner && inner.previous instanceof Error && "constraint" in inner.previous) {
      return String(inner.previous.constraint);
    }
  }
  return undefined;
}

/** Runs `work`; a violation of the named constraints becomes the error that the table makes of it. */
export async function mapViolations<T>(
  table: Record<string, () => ServiceError>,
  work: Promise<T>,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const make = table[violatedConstraint(error) ?? ""];
    throw make === undefined ? error : make();
  }
}
