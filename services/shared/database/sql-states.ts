// The SQLSTATEs that the service looks for, by what they mean: the only place where they stand as codes. (The embedded server's
// folder has its own, as it stands by itself.)

/** Names as in https://www.postgresql.org/docs/18/errcodes-appendix.html; ours are raised by functions of the migrations. */
export const sqlStates = {
  cannotConnectNow: "57P03",
  databaseUnknown: "3D000",
  deadlockDetected: "40P01",
  diskFull: "53100",
  insufficientPrivilege: "42501",
  invalidAuthorization: "28000",
  invalidPassword: "28P01",
  lockNotAvailable: "55P03",
  /** Also of `statement_timeout`. */
  queryCanceled: "57014",
  serializationFailure: "40001",
  /** Ours, raised by hold_sealing_keys: this process stood still holding a key that has been destroyed meanwhile. */
  keyDestroyed: "RK001",
  /** Ours, raised by refuse_frozen: the tenant is being restored. */
  tenantFrozen: "RF001",
} as const;

/** Somebody else holds what is to be locked: a lock was not had in time, or two waited for each other. */
export const isLockConflict = (code: string): boolean =>
  code === sqlStates.lockNotAvailable || code === sqlStates.deadlockDetected;

/** Another transaction was in the way: the same may go well in a moment. */
export const isContended = (code: string): boolean =>
  isLockConflict(code) || code === sqlStates.serializationFailure;

/** The server answers, and does not know this login, its password or the database. */
export const isUnknownLogin = (code: string): boolean =>
  code === sqlStates.invalidAuthorization ||
  code === sqlStates.invalidPassword ||
  code === sqlStates.databaseUnknown;

/** A unique key, a foreign key or a check was violated. */
export const isViolation = (code: string): boolean => code.startsWith("23");

const lostServer = /^(?:08...|25P03|57P0[1-4]|53[0-9A-Z]{3})$/;
/** PostgreSQL is away, ends, restarts, or has no room for another connection. */
export const isLostServer = (code: string): boolean => lostServer.test(code);

const unreadable = /^(?:22P0[0-9]|08P01)$/;
/** What COPY reads is not of the form that it has to have. */
export const isUnreadable = (code: string): boolean => unreadable.test(code);
