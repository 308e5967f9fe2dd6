// What is asked outside, and what comes of it.

export interface OutboundRequest {
  url: string;
  method: "GET" | "POST";
  headers?: Readonly<Record<string, string>>;
  body?: string | undefined;
  /** At most 15 000, for all of it: resolving, connecting, answering. */
  deadlineMs?: number;
  /** Of the answer, 64 kB unless stated; what is beyond is not read. */
  answerBytesMax?: number;
  /** Gives up at once; the request may have arrived. */
  signal?: AbortSignal | undefined;
}

/**
 * blocked: the address may not be reached; unresolved: the name has no address, or none was learnt in time; connection:
 * refused, reset or broken off; protocol: the answer was no HTTP or its headers too large.
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

/** An answer, whatever its status (a redirect or an error is one too), or why there is none. */
export type Exchanged =
  | {
      ok: true;
      status: number;
      /** The header as it came. */
      retryAfter: string | undefined;
      /** No more of it than `answerBytesMax`, and what came before the deadline. */
      body: string;
    }
  | { ok: false; failure: OutboundFailure };
