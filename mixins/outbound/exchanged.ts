// The shapes of an outbound request and of its result.

export interface OutboundRequest {
  url: string;
  method: "GET" | "POST";
  headers?: Readonly<Record<string, string>>;
  body?: string | undefined;
  /** For the whole request: resolving, connecting, answering. At most 15,000. */
  deadlineMs?: number;
  /** Bytes of the answer that are read; 64 kB unless set. */
  answerBytesMax?: number;
  /** Aborts at once. The request may have arrived nevertheless. */
  signal?: AbortSignal | undefined;
}

/**
 * blocked: this address must not be reached. unresolved: the name has no address, or none was found in time. connection: refused,
 * reset or broken off. protocol: the answer was not HTTP, or its headers were too large.
 */
export type OutboundFailure =
  | "invalid_url"
  | "blocked"
  | "unresolved"
  | "connection"
  | "tls"
  | "timeout"
  | "protocol"
  | "aborted";

/** An answer with any status (also a redirect or an error), or the reason why there is none. */
export type Exchanged =
  | {
      ok: true;
      status: number;
      /** The header as received. */
      retryAfter: string | undefined;
      /** At most `answerBytesMax` bytes, and only what arrived before the deadline. */
      body: string;
    }
  | { ok: false; failure: OutboundFailure };
