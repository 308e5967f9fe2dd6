// The transport for requests of the minio client. The client has no timeouts and no abort of its own, so both are added here. A
// store that is unreachable, hangs, sends one byte an hour, or answers without end causes an error, and never a promise that
// stays pending.
import * as http from "node:http";
import * as https from "node:https";
import { pipeline, Transform } from "node:stream";
import type { ClientOptions } from "minio";
import { StoreError } from "./store.ts";

export interface RequestBounds {
  /** Aborts the request, and the answer that is being read. */
  signal: AbortSignal | undefined;
  /** Until the connection is open, TLS included. */
  connectMsMax: number;
  /** Longest time without a byte in either direction. */
  idleMsMax: number;
  /** For the whole request with its answer; for a streamed answer only until it begins. */
  answerMsMax: number;
  /** The caller reads the answer at its own pace, and bounds it from its beginning on. */
  streamed: boolean;
}

type Transport = NonNullable<ClientOptions["transport"]>;

export interface BoundedTransport extends Transport {
  /** The status of the last answer: the client does not include it in its errors. */
  status: number | undefined;
}

/** A list of a thousand of our keys has about 500 kB. */
const answerBytesMax = 4_194_304;

/** With these statuses the client discards the answer unread and would repeat the request: the connection would never be free. */
const leftUnread = new Set<number | undefined>([408, 429, 499, 500, 502, 503, 504, 520]);

/** @param secure whether to use TLS @returns a transport for exactly one request */
export function boundedTransport(secure: boolean, bounds: RequestBounds): BoundedTransport {
  const { request: begin } = secure ? https : http;
  const transport = {
    status: undefined as number | undefined,
    request(options: https.RequestOptions, onAnswer: (answer: unknown) => void) {
      const signal = bounds.signal === undefined ? {} : { signal: bounds.signal };
      const request = begin({ ...options, ...signal, timeout: bounds.idleMsMax });
      const late = () =>
        void request.destroy(new StoreError("unavailable", "The store did not answer in time."));
      const clocks = [setTimeout(late, bounds.answerMsMax), connectionClock(request, secure, bounds, late)];
      const stop = () => clocks.forEach(clearTimeout);
      request.on("timeout", late);
      request.once("close", stop);
      request.once("response", (answer) => {
        transport.status = answer.statusCode;
        if (!bounds.streamed || answer.statusCode !== 200) {
          const body = bounded(answer);
          if (leftUnread.has(answer.statusCode)) body.resume();
          return onAnswer(body);
        }
        stop();
        request.removeListener("timeout", late);
        onAnswer(answer);
      });
      return request;
    },
  };
  // `request` has more overloads than the client uses.
  return transport as BoundedTransport;
}

/** The body that the client reads into memory, bounded, with the two other properties that the client uses. */
function bounded(answer: http.IncomingMessage) {
  let bytes = 0;
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= answerBytesMax) done(null, chunk);
      else done(new StoreError("unavailable", "The store's answer is too long."));
    },
  });
  // An error reaches the reader of the body; there may be none.
  pipeline(answer, body, () => {});
  body.on("error", () => {});
  return Object.assign(body, { statusCode: answer.statusCode, headers: answer.headers });
}

function connectionClock(
  request: http.ClientRequest,
  secure: boolean,
  { connectMsMax }: RequestBounds,
  late: () => void,
): NodeJS.Timeout {
  const clock = setTimeout(late, connectMsMax);
  request.once("socket", (socket) => {
    // A reused connection is open already.
    if (request.reusedSocket) clearTimeout(clock);
    else socket.once(secure ? "secureConnect" : "connect", () => clearTimeout(clock));
  });
  return clock;
}
