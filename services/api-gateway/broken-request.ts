// Requests that are not HTTP, too long or too slow. Node refuses them before a handler runs, with an empty body. This file
// answers them in the same form as all other refusals. Their content is not logged, because it may be anything.
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

/** Answers what Node's parser and timeouts refuse, and closes the connection. */
export function answerBrokenRequests(server: Server): void {
  server.on("clientError", (error: Error & { code?: string }, socket: Socket) => {
    // A second answer would break the one that is being sent; Node keeps that one on the socket.
    const { _httpMessage: underWay } = socket as Socket & { _httpMessage?: ServerResponse | null };
    if (underWay?.req.complete === true && !underWay.headersSent && socket.writable) {
      // The invalid bytes follow a valid request: that one is answered, and nothing after it.
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

/** HTTP/1.1 requires exactly one Host, and Node ignores headers beyond its maximum. @returns whether the request was refused */
export function refusedForHeaders(request: IncomingMessage, response: ServerResponse): boolean {
  const refusal = headersRefusal(request);
  if (refusal === undefined) return false;
  const body = bodyOf(refusal);
  response.writeHead(refusal.status, headersOf(Buffer.byteLength(body)));
  response.end(body);
  return true;
}

function headersRefusal({ headers, rawHeaders, httpVersion }: IncomingMessage): Refusal | undefined {
  // Each header is a name and a value.
  if (rawHeaders.length > 2 * headersMax) return headersTooLarge;
  // Of two Host headers Node would take the first, and a proxy in front of it perhaps the second.
  if (hostsIn(rawHeaders) > 1) return malformed;
  return headers.host === undefined && httpVersion !== "1.0" ? malformed : undefined;
}

/** @param rawHeaders names and values alternately */
function hostsIn(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === "host") count++;
  return count;
}
