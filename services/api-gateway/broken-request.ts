// What is no HTTP, or too long, or too slow in coming: Node refuses it before any handler of ours could, with an empty
// body. Here it is refused in the words of all other refusals. Nothing of it is logged: it may be anything.
import { randomUUID } from "node:crypto";
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { closeGently, stopParsing } from "./linger.ts";

export const headersMax = 100;

interface Refusal {
  status: number;
  code: string;
  detail: string;
}

const malformed: Refusal = {
  status: 400,
  code: "malformed_request",
  detail: "The request is not valid HTTP",
};
const headersTooLarge: Refusal = {
  status: 431,
  code: "headers_too_large",
  detail: "The headers are too large",
};
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: headersTooLarge,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: malformed,
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: "request_timeout", detail: "The request came too slowly" },
};

function headersOf(bodyBytes: number): Record<string, string> {
  return {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": String(bodyBytes),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Request-Id": randomUUID(),
    Connection: "close",
  };
}

function bodyOf({ detail, code }: Refusal): string {
  return JSON.stringify({ detail, code });
}

/** Answers what Node's parser and clocks refuse, and closes the connection. */
export function answerBrokenRequests(server: Server): void {
  server.on("clientError", (error: Error & { code?: string }, socket: Socket) => {
    // An answer that is under way on this connection would be broken by a second one; Node keeps it there.
    const { _httpMessage: underWay } = socket as Socket & { _httpMessage?: ServerResponse | null };
    if (underWay?.req.complete === true && !underWay.headersSent && socket.writable) {
      // What is broken stands behind a request that is not: that one is answered, and nothing after it.
      underWay.shouldKeepAlive = false;
      stopParsing(socket);
      return;
    }
    if (error.code === "ECONNRESET" || !socket.writable || underWay?.headersSent === true) {
      socket.destroy(error);
      return;
    }
    const refusal = refusals[error.code ?? ""] ?? malformed;
    const body = bodyOf(refusal);
    const lines = Object.entries(headersOf(Buffer.byteLength(body))).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const status = `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`;
    socket.write(`${[status, ...lines].join("\r\n")}\r\n\r\n${body}`);
    closeGently(socket);
  });
}

/** HTTP/1.1 demands one Host, and of more headers than we take the last ones are not seen; @returns whether it was refused */
export function refusedForHeaders(request: IncomingMessage, response: ServerResponse): boolean {
  const refusal = headersRefusal(request);
  if (refusal === undefined) return false;
  const body = bodyOf(refusal);
  response.writeHead(refusal.status, headersOf(Buffer.byteLength(body)));
  response.end(body);
  return true;
}

function headersRefusal({ headers, rawHeaders, httpVersion }: IncomingMessage): Refusal | undefined {
  // A name and a value each.
  if (rawHeaders.length > 2 * headersMax) return headersTooLarge;
  // Of two Node would take the first, and a proxy before us perhaps the other.
  if (hostsIn(rawHeaders) > 1) return malformed;
  return headers.host === undefined && httpVersion !== "1.0" ? malformed : undefined;
}

/** @param rawHeaders names and values in turn */
function hostsIn(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === "host") count++;
  return count;
}
