// How requests of the minio client travel: it sets no limit of its own and knows no abort, so both are here. A store that
// is away, hangs, sends a byte an hour, or answers without end is an error, never a promise that stays open.
import * as http from "node:http";
import * as https from "node:https";
import { pipeline, Transform } from "node:stream";
import type { ClientOptions } from "minio";
import { StoreError } from "./store.ts";

export interface RequestBounds {
  /** Ends the request, and the answer that is being read. */
  signal: AbortSignal | undefined;
  /** To the connection, TLS included. */
  connectMsMax: number;
  /** Without a byte in either direction. */
  idleMsMax: number;
  /** The whole request with its answer; of an answer that is streamed, until it begins. */
  answerMsMax: number;
  /** The answer is read by somebody else, at their pace: they bound it from its beginning on. */
  streamed: boolean;
}

type Transport = NonNullable<ClientOptions["transport"]>;

export interface BoundedTransport extends Transport {
  /** Of the last answer: the client does not tell it in its errors. */
  status: number | undefined;
}

/** A list of a thousand of our keys is some 500 kB. */
const answerBytesMax = 4_194_304;

/** Answers that the client throws away unread, as it would rather repeat the request: their connection would never be free. */
const leftUnread = new Set<number | undefined>([408, 429, 499, 500, 502, 503, 504, 520]);

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

/** What the client reads into memory, with the only two facts beside that it looks at. */
function bounded(answer: http.IncomingMessage) {
  let bytes = 0;
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= answerBytesMax) done(null, chunk);
      else done(new StoreError("unavailable", "The store's answer is too long."));
    },
  });
  // Errors reach whoever reads the body; nobody may.
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
    // A connection that is used again is there already.
    if (request.reusedSocket) clearTimeout(clock);
    else socket.once(secure ? "secureConnect" : "connect", () => clearTimeout(clock));
  });
  return clock;
}
