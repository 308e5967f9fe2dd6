// A request's body: let in after everything that can be known without it, bounded, and held against the process's budget
// while it comes. Until it was read whole the connection is one that closes after the answer: what still comes is neither
// waited for nor taken for the next request.
import type { IncomingMessage, ServerResponse } from "node:http";
import { ServiceError } from "../shared/errors.ts";
import type { BodyKind, Held } from "./load.ts";

/** What needs no token fits into it, whatever is escaped in it. */
export const smallBodyBytesMax = 16_384;
/** A body's buffer; when it is full nothing is read from the system. */
export const bufferedBytes = 16_384;
/** What a connection takes in before anybody reads: nearly that, and one read from the system, which is of 64 kB. */
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
/** Answers after which the connection will be kept if the body was read. */
const closing = new WeakSet<ServerResponse>();

/** Its length as declared, Infinity for chunks; 0 if there is none. */
function expectedBytes({ headers }: IncomingMessage): number {
  if (headers["transfer-encoding"] !== undefined) return Number.POSITIVE_INFINITY;
  const length = headers["content-length"];
  return length === undefined ? 0 : Number(length);
}

/** The sender was not told yet that the body may come. */
export function holdBody(request: IncomingMessage): void {
  heldBack.add(request);
}

/**
 * An answer before the body was read is the connection's last. A small body on its way is no reason: Node throws it away.
 * One that is held back is: whether it will come is not known, and the next request could be taken for it.
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

/** @throws BodyTooLarge by its declared length alone */
export function assertDeclaredFits(request: IncomingMessage, bytesMax: number): void {
  const bytes = expectedBytes(request);
  if (Number.isFinite(bytes) && bytes > bytesMax) throw new BodyTooLarge(bytesMax);
}

/** Takes room for what may come unasked. @throws Unavailable when there is none */
export function expectBody(request: IncomingMessage, { bytesMax, kind, held }: Bound): void {
  const bytes = expectedBytes(request);
  if (bytes === 0) return;
  const most = Math.min(bytes, bytesMax);
  held.expectBody(kind ?? (most <= smallBodyBytesMax ? "small" : "large"), Math.min(most, unaskedBytesMax));
}

/** Reads it whole, after `expectBody`. Settles in every case: read, too large, no room, or its connection has ended. */
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
    // What is left of it is not read, so nothing else can be.
    request.pause();
    response.shouldKeepAlive = false;
    throw refusal;
  }
}

/** @param allow is told of all bytes so far and throws when they are too many */
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
