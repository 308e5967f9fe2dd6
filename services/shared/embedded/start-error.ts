// Why the service could not start, in one sentence that an operator can act on. Whoever starts the service prints the
// message alone and exits with a code other than zero; any other error class is a fault of ours and keeps its stack.

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
  EBUSY: "it is in use or a mount point",
  ENAMETOOLONG: "the path is too long",
};

/** The `code` of a system error (`ENOENT`, …), or an empty text. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/**
 * Turns a failed file operation into a StartError: `fileError(e, "/x", "written")` says "/x cannot be written: the
 * disk is full." A StartError passes through as it is.
 */
export function fileError(error: unknown, path: string, action: string): StartError {
  if (error instanceof StartError) return error;
  const code = errorCode(error);
  const reason = reasons[code] ?? (code || (error instanceof Error ? error.message : String(error)));
  return new StartError(`${path} cannot be ${action}: ${reason}.`, { cause: error });
}
