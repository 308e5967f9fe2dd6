// Why the service could not start, in one sentence that an operator can act on. The program prints only the message and exits
// with a non-zero code. Any other error class is a bug and keeps its stack.

/** An error for the operator: its message is one or more whole sentences and holds no secret. */
export class StartError extends Error {
  override readonly name = "StartError";
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  ENOTDIR: "a file stands where a folder is needed",
  EISDIR: "a folder stands where a file is needed",
  ENOENT: "it does not exist",
  EBUSY: "it is in use or a mount point",
  ENAMETOOLONG: "the path is too long",
};

/** @returns a property of a caught value, if present. Without `instanceof`: in Jest Node's own errors come from another realm. */
export function propertyOf(error: unknown, name: "code" | "errcode" | "message"): unknown {
  return typeof error === "object" && error !== null ? Reflect.get(error, name) : undefined;
}

/** @returns the `code` of a system error (`ENOENT`, …), or an empty string */
export function errorCode(error: unknown): string {
  const code = propertyOf(error, "code");
  return typeof code === "string" ? code : "";
}

/**
 * Turns a failed file operation into a StartError: `fileError(e, "/x", "written")` gives "/x cannot be written: the
 * disk is full." A StartError is returned unchanged.
 */
export function fileError(error: unknown, path: string, action: string): StartError {
  if (error instanceof StartError) return error;
  const code = errorCode(error);
  const message = propertyOf(error, "message") ?? error;
  const reason = reasons[code] ?? String(code.startsWith("E") && !code.startsWith("ERR_") ? code : message);
  return new StartError(`${path} cannot be ${action}: ${reason}.`, { cause: error });
}
