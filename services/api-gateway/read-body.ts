// Reads a request's body whole, up to a limit. Who sends more gets 413 and the connection closes: what is still
// coming is not waited for.
import type { IncomingMessage } from "node:http";
import { ServiceError } from "../shared/errors.ts";

export class BodyTooLarge extends ServiceError {
  constructor(bytesMax: number) {
    super(413, "body_too_large", `The body exceeds ${bytesMax} bytes`);
  }
}

const nothing = Buffer.alloc(0);

export function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  if (length === undefined && encoding === undefined) return Promise.resolve(nothing);
  if (length !== undefined && Number(length) > bytesMax) return Promise.reject(new BodyTooLarge(bytesMax));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) chunks.push(chunk);
      else {
        request.removeAllListeners("data");
        reject(new BodyTooLarge(bytesMax));
      }
    });
    request.on("end", () => resolve(chunks.length === 1 ? (chunks[0] ?? nothing) : Buffer.concat(chunks)));
    request.on("error", reject);
    request.on("aborted", () =>
      reject(new ServiceError(400, "request_aborted", "The request was not finished")),
    );
  });
}
