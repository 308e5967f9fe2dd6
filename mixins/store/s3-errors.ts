// Translates errors of an S3 store, or of the connection to it, into StoreErrors. The store's own message is left out: it repeats
// the access key, the signed text and the object's name.
import { errorCode } from "../../services/shared/start-error.ts";
import { StoreError, type StoreFault } from "./store.ts";

/** A StoreError with the store's code. */
export class S3Error extends StoreError {
  /** The code of S3 or of Node, or an empty string. */
  readonly code: string;
  /** Whether the same request may succeed a moment later. */
  readonly passing: boolean;

  constructor([fault, sentence]: Failure, code: string, passing: boolean, options: ErrorOptions) {
    super(fault, sentence, options);
    this.code = code;
    this.passing = passing;
  }
}

type Failure = readonly [StoreFault, string];

const noBucket: Failure = ["not_found", "The bucket does not exist."];
const noObject: Failure = ["not_found", "There is no such object."];
const noKeys: Failure = ["refused", "The store does not accept S3_ACCESS_KEY and S3_SECRET_KEY."];
const noRight: Failure = [
  "refused",
  "The store does not allow this to these credentials, or the object is locked.",
];
const wrongRegion: Failure = ["refused", "The bucket is in another region: see S3_REGION and S3_ENDPOINT."];
const noLock: Failure = ["refused", "S3_RETENTION_DAYS needs a bucket that was made with object lock."];
const full: Failure = ["full", "The store has no room left, or a quota is used up."];
const distrusted: Failure = ["unavailable", "The store's TLS certificate is not trusted: see S3_CA_FILE."];
const noTls: Failure = ["unavailable", "The store does not speak TLS: see S3_ENDPOINT."];
const away: Failure = ["unavailable", "The store cannot be reached."];
const ended: Failure = ["unavailable", "The connection to the store broke."];

const busy: Failure = ["unavailable", "The store is busy."];
const lasting = new Set([noTls, distrusted]);

/** By the codes of S3, and of Node for connection errors. */
const known: Readonly<Record<string, Failure>> = {
  NoSuchKey: noObject,
  NoSuchVersion: noObject,
  NoSuchUpload: noObject,
  NotFound: noObject,
  NoSuchBucket: noBucket,
  InvalidAccessKeyId: noKeys,
  SignatureDoesNotMatch: noKeys,
  InvalidToken: noKeys,
  ExpiredToken: noKeys,
  AccessDenied: noRight,
  AllAccessDisabled: noRight,
  AccountProblem: noRight,
  ObjectLocked: noRight,
  MethodNotAllowed: noRight,
  RequestTimeTooSkewed: [
    "refused",
    "This machine's clock and the store's differ by more than the store allows.",
  ],
  AuthorizationHeaderMalformed: wrongRegion,
  IllegalLocationConstraintException: wrongRegion,
  PermanentRedirect: wrongRegion,
  TemporaryRedirect: wrongRegion,
  MovedPermanently: wrongRegion,
  InvalidRequest: [
    "refused",
    "The store calls the request invalid: S3_RETENTION_DAYS needs a bucket that was made with object lock.",
  ],
  InvalidBucketObjectLockConfiguration: noLock,
  ObjectLockConfigurationNotFoundError: noLock,
  QuotaExceeded: full,
  InsufficientStorage: full,
  XMinioStorageFull: full,
  XMinioAdminBucketQuotaExceeded: full,
  EntityTooLarge: full,
  // Somebody else is writing the same object at this moment.
  ConditionalRequestConflict: busy,
  SlowDown: busy,
  OperationAborted: busy,
  RequestTimeout: busy,
  ECONNREFUSED: away,
  ENOTFOUND: away,
  EAI_AGAIN: away,
  ETIMEDOUT: away,
  EHOSTUNREACH: away,
  ENETUNREACH: away,
  ECONNRESET: ended,
  EPIPE: ended,
  ERR_STREAM_PREMATURE_CLOSE: ended,
  EPROTO: noTls,
  ERR_TLS_CERT_ALTNAME_INVALID: distrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: distrusted,
  SELF_SIGNED_CERT_IN_CHAIN: distrusted,
  UNABLE_TO_GET_ISSUER_CERT: distrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: distrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: distrusted,
  CERT_SIGNATURE_FAILURE: distrusted,
  CERT_HAS_EXPIRED: distrusted,
  CERT_NOT_YET_VALID: distrusted,
  CERT_UNTRUSTED: distrusted,
};

/**
 * @param status of the last answer, if there was one: some answers carry no code
 * @throws errors that are a bug of this program and not a failure of the store, unchanged
 */
export function asS3Error(error: unknown, status: number | undefined): StoreError {
  if (error instanceof StoreError) return error;
  const code = codeOf(error);
  if (code === "" && status === undefined) throw error;
  const failure = known[code] ?? byStatus(status, code);
  const name = error instanceof Error ? error.name : typeof error;
  const again = status === undefined || status < 300 || status >= 500 || status === 408 || status === 429;
  const passing = failure === busy || (failure[0] === "unavailable" && again && !lasting.has(failure));
  return new S3Error(failure, code, passing, {
    cause: new Error(`S3 answered ${[code || name, status].join(" ")}`),
  });
}

/** The client throws its own errors, those of Node and, when an error came with status 200, the parsed answer. */
function codeOf(error: unknown): string {
  const ofNode = errorCode(error);
  if (ofNode !== "" || typeof error !== "object" || error === null) return ofNode;
  const parsed: unknown = Reflect.get(error, "Code");
  return typeof parsed === "string" ? parsed : "";
}

/** @param code an unknown code, or an empty string */
function byStatus(status: number | undefined, code: string): Failure {
  if (status === 401 || status === 403) return noRight;
  // With a code of its own the status may mean that the user was not found.
  if (status === 404 && code === "") return noObject;
  if (status === 413 || status === 507) return full;
  if (status === 301 || status === 307) return wrongRegion;
  const understood = status !== undefined && status >= 300;
  return [
    "unavailable",
    understood ? `The store answers ${status}.` : "The store's answer was not understood.",
  ];
}
