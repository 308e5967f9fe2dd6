// Translates errors before they cross the bus: errors of ours stay unchanged, lost dependencies become 503, and everything else
// one constant 500. Raw errors of libraries and of the database stay in the log of their node.
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

/** Whether PostgreSQL is unreachable, restarting, or has no free connection: the same request may succeed later. */
export function isLostDatabase(error: unknown): boolean {
  const code = errorCode(error);
  return (
    isLostServer(code) ||
    lostHost.test(code) ||
    (error instanceof Error && lostConnection.test(error.message))
  );
}

/** @returns the error for the caller, and whether the original error should be logged */
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

/** @returns the name of the violated constraint if `error`, or an error that it wraps, is a constraint violation */
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

/** Awaits `work`. A violation of a constraint named in the table becomes the table's error. */
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
