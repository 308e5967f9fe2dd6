// Reads the body of a request. It is accepted after all checks that are possible without it, it is bounded, and it counts
// against the budget of the process while it arrives. Until it was read completely, the connection is closed after the answer,
// so that the rest of the body is neither awaited nor parsed as the next request.
import type { IncomingMessage, ServerResponse } from "node:http";
import { ServiceError } from "../shared/errors.ts";
import type { BodyKind, Held } from "./load.ts";

/** Bodies that need no token fit into it, with any escaping. */
export const smallBodyBytesMax = 16_384;
/** The buffer of one body. When it is full, nothing more is read from the operating system. */
export const bufferedBytes = 16_384;
/** Bytes that a connection accepts before a reader exists: almost the buffer, and one read of 64 kB. */
const unaskedBytesMax = bufferedBytes + 65_536;

class BodyTooLarge extends ServiceError {
  constructor(bytesMax: number) {
    super(413, "body_too_large", `The body exceeds ${bytesMax} bytes`);
  }
}

const aborted = () => new ServiceError(400, "request_aborted", "The request was not finished");
const nothing = Buffer.alloc(0);

/** Requests whose sender waits for "100 Continue". */
const heldBack = new WeakSet<IncomingMessage>();
/** Answers after which the connection is kept if the body was read. */
const closing = new WeakSet<ServerResponse>();

/** The declared length; Infinity for chunks, 0 without a body. */
function expectedBytes({ headers }: IncomingMessage): number {
  if (headers["transfer-encoding"] !== undefined) return Number.POSITIVE_INFINITY;
  const length = headers["content-length"];
  return length === undefined ? 0 : Number(length);
}

/** Records that the sender still waits for permission to send its body. */
export function holdBody(request: IncomingMessage): void {
  heldBack.add(request);
}

/**
 * An answer sent before the body was read must be the last of its connection. A small body that is arriving is an
 * exception, because Node discards it. A body whose sender waits for permission is not: it may or may not arrive, and
 * the next request could be parsed as this body.
 */
export function closeUnlessRead(request: IncomingMessage, response: ServerResponse): void {
  if (!response.shouldKeepAlive) return;
  if (expectedBytes(request) <= smallBodyBytesMax && !heldBack.has(request)) return;
  response.shouldKeepAlive = false;
  closing.add(response);
}

interface Bound {
  bytesMax: number;
  kind?: BodyKind;
  held: Held;
}

/** @throws BodyTooLarge if the declared length is too large */
export function assertDeclaredFits(request: IncomingMessage, bytesMax: number): void {
  const bytes = expectedBytes(request);
  if (Number.isFinite(bytes) && bytes > bytesMax) throw new BodyTooLarge(bytesMax);
}

/** Reserves room for bytes that may arrive unasked. @throws Unavailable when there is none */
export function expectBody(request: IncomingMessage, { bytesMax, kind, held }: Bound): void {
  const bytes = expectedBytes(request);
  if (bytes === 0) return;
  const most = Math.min(bytes, bytesMax);
  held.expectBody(kind ?? (most <= smallBodyBytesMax ? "small" : "large"), Math.min(most, unaskedBytesMax));
}

/** Reads the whole body, after `expectBody`. It settles in every case: complete, too large, no room, or connection ended. */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  { bytesMax, held }: Bound,
): Promise<Buffer> {
  if (expectedBytes(request) === 0) return nothing;
  if (heldBack.delete(request)) response.writeContinue();
  try {
    const bytes = await collect(request, (count) => {
      if (count > bytesMax) throw new BodyTooLarge(bytesMax);
      held.growTo(count);
    });
    if (closing.delete(response)) response.shouldKeepAlive = true;
    return bytes;
  } catch (refusal) {
    // The rest of the body is not read, so the connection cannot be used again.
    request.pause();
    response.shouldKeepAlive = false;
    throw refusal;
  }
}

/** @param allow is called with the number of bytes so far and throws when there are too many */
function collect(request: IncomingMessage, allow: (bytes: number) => void): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (settle: () => void) => {
      request.off("data", take).off("end", finish).off("error", abort).off("close", abort);
      settle();
    };
    const abort = () => end(() => reject(aborted()));
    const finish = () =>
      end(() => resolve(chunks.length === 1 ? (chunks[0] ?? nothing) : Buffer.concat(chunks)));
    const take = (chunk: Buffer) => {
      bytes += chunk.length;
      try {
        allow(bytes);
        chunks.push(chunk);
      } catch (refusal) {
        end(() => reject(refusal));
      }
    };
    if (request.destroyed) reject(aborted());
    else request.on("data", take).on("end", finish).on("error", abort).on("close", abort);
  });
}
