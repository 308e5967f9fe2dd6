// What an S3 store, or the way to it, answered, in the port's words. The store's own answer is left out: it repeats the
// access key, the signed text and the object's name.
import { errorCode } from "../../services/shared/start-error.ts";
import { StoreError, type StoreFault } from "./store.ts";

export class S3Error extends StoreError {
  /** S3's or Node's code, or an empty text. */
  readonly code: string;
  /** Whether the same request may go well in a moment. */
  readonly passing: boolean;

  constructor([fault, sentence]: Told, code: string, passing: boolean, options: ErrorOptions) {
    super(fault, sentence, options);
    this.code = code;
    this.passing = passing;
  }
}

type Told = readonly [StoreFault, string];

const noBucket: Told = ["not_found", "The bucket does not exist."];
const noObject: Told = ["not_found", "There is no such object."];
const noKeys: Told = ["refused", "The store does not accept S3_ACCESS_KEY and S3_SECRET_KEY."];
const noRight: Told = [
  "refused",
  "The store does not allow this to these credentials, or the object is locked.",
];
const wrongRegion: Told = ["refused", "The bucket is in another region: see S3_REGION and S3_ENDPOINT."];
const noLock: Told = ["refused", "S3_RETENTION_DAYS needs a bucket that was made with object lock."];
const full: Told = ["full", "The store has no room left, or a quota is used up."];
const distrusted: Told = ["unavailable", "The store's TLS certificate is not trusted: see S3_CA_FILE."];
const noTls: Told = ["unavailable", "The store does not speak TLS: see S3_ENDPOINT."];
const away: Told = ["unavailable", "The store cannot be reached."];
const ended: Told = ["unavailable", "The connection to the store broke."];

const busy: Told = ["unavailable", "The store is busy."];
const lasting = new Set([noTls, distrusted]);

/** S3's codes, and Node's of the way there. */
const known: Readonly<Record<string, Told>> = {
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
  // Others write the same object at this moment.
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
 * @param status of the last answer, where there was one: some answers carry no code
 * @throws what is no failure of the store but a fault of this program, as it is
 */
export function asS3Error(error: unknown, status: number | undefined): StoreError {
  if (error instanceof StoreError) return error;
  const code = codeOf(error);
  if (code === "" && status === undefined) throw error;
  const told = known[code] ?? byStatus(status, code);
  const name = error instanceof Error ? error.name : typeof error;
  const again = status === undefined || status < 300 || status >= 500 || status === 408 || status === 429;
  const passing = told === busy || (told[0] === "unavailable" && again && !lasting.has(told));
  return new S3Error(told, code, passing, {
    cause: new Error(`S3 answered ${[code || name, status].join(" ")}`),
  });
}

/** The client throws errors of its own, of Node, and, where an error came with 200, the parsed answer. */
function codeOf(error: unknown): string {
  const ofNode = errorCode(error);
  if (ofNode !== "" || typeof error !== "object" || error === null) return ofNode;
  const parsed: unknown = Reflect.get(error, "Code");
  return typeof parsed === "string" ? parsed : "";
}

/** @param code one that is not known here, or none */
function byStatus(status: number | undefined, code: string): Told {
  if (status === 401 || status === 403) return noRight;
  // With a code of its own it may be the user that was not found.
  if (status === 404 && code === "") return noObject;
  if (status === 413 || status === 507) return full;
  if (status === 301 || status === 307) return wrongRegion;
  const understood = status !== undefined && status >= 300;
  return [
    "unavailable",
    understood ? `The store answers ${status}.` : "The store's answer was not understood.",
  ];
}
