// Sends one request to an address that was checked, and reads a bounded part of its answer.
import * as http from "node:http";
import * as https from "node:https";
import { onAbort } from "./on-abort.ts";
import type { Connections } from "./connections.ts";
import type { Exchanged, OutboundFailure, OutboundRequest } from "./exchanged.ts";
import type { Target } from "./target.ts";

const answerBytesMax = 65_536;
/** For the few callers that ask for more. */
const answerBytesLimit = 8_388_608;
const headerBytesMax = 16_384;

interface Exchange {
  target: Target;
  /** The checked IP address. */
  address: string;
  request: OutboundRequest;
  connections: Connections;
  /** In the time of performance.now(). */
  endsAt: number;
}

/** Never rejects. A kept connection that broke before any byte of an answer is replaced by a new one, once. */
export async function exchange(of: Exchange): Promise<Exchanged | "unreachable"> {
  const first = await attempt(of);
  const result = first === "stale" ? await attempt(of) : first;
  return result === "stale" ? { ok: false, failure: "connection" } : result;
}

type Answer = Extract<Exchanged, { ok: true }>;
/** unreachable: the connection was not accepted; stale: a kept connection broke. */
type Outcome = Exchanged | "unreachable" | "stale";

function attempt(of: Exchange): Promise<Outcome> {
  return new Promise((resolve) => {
    const { signal } = of.request;
    let answer: Answer | undefined;
    const late = setTimeout(() => end("timeout"), Math.max(0, of.endsAt - performance.now()));
    const forget = onAbort(signal, () => end("aborted"));
    const settle = (outcome: Outcome) => {
      clearTimeout(late);
      forget();
      resolve(outcome);
    };
    // Once a status has arrived it counts, even if the rest of the answer never comes.
    const end = (failure: OutboundFailure) => {
      settle(answer ?? { ok: false, failure });
      sent.destroy();
    };
    const sent = send(of);
    if (signal?.aborted === true) end("aborted");
    sent.on("error", (error: NodeJS.ErrnoException) => {
      if (answer !== undefined) settle(answer);
      else if (sent.reusedSocket && error.code === "ECONNRESET") settle("stale");
      else if (unreachableCodes.has(error.code ?? "")) settle("unreachable");
      else settle({ ok: false, failure: failureOf(error) });
    });
    sent.on("upgrade", () => end("protocol"));
    sent.on("response", (response) => {
      const started: Answer = {
        ok: true,
        status: response.statusCode ?? 0,
        retryAfter: response.headers["retry-after"],
        body: "",
      };
      answer = started;
      const bytesMax = Math.min(of.request.answerBytesMax ?? answerBytesMax, answerBytesLimit);
      readBody(response, started, bytesMax, () => settle(started));
    });
    sent.end(of.request.body);
  });
}

function send({ target, address, request, connections }: Exchange): http.ClientRequest {
  const options: https.RequestOptions = {
    host: address,
    port: target.port,
    path: target.path,
    method: request.method,
    headers: {
      ...request.headers,
      host: target.authority,
      ...(request.body === undefined ? {} : { "content-length": Buffer.byteLength(request.body) }),
    },
    agent: connections.agentFor(target),
    maxHeaderSize: headerBytesMax,
    // For an IP address no SNI is sent, and the certificate must then be valid for the address.
    ...(target.tls ? { servername: target.host === address ? "" : target.host } : {}),
    // Never called, because the host is an address: a name must not be resolved a second time.
    lookup: () => {
      throw new Error("an address was to be resolved again");
    },
  };
  return target.tls ? https.request(options) : http.request(options);
}

/** Reads to the end, so that the connection can be kept, but not beyond the bound. `answer.body` grows meanwhile. */
function readBody(response: http.IncomingMessage, answer: Answer, bytesMax: number, done: () => void): void {
  let bytes = 0;
  const decoder = new TextDecoder();
  response.on("data", (chunk: Buffer) => {
    const rest = bytesMax - bytes;
    bytes += chunk.length;
    answer.body += decoder.decode(chunk.subarray(0, rest), { stream: true });
    if (bytes < bytesMax) return;
    response.destroy();
    done();
  });
  response.once("end", done);
  response.once("close", done);
  response.once("error", done);
}

const unreachableCodes = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"]);
const tlsCodes = /CERT|^ERR_TLS|^ERR_SSL|^EPROTO$|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH/;

function failureOf({ code = "" }: NodeJS.ErrnoException): OutboundFailure {
  if (code.startsWith("HPE_")) return "protocol";
  return tlsCodes.test(code) ? "tls" : "connection";
}
