// Brings equivalent forms of a request into one form, which the other parts expect.
import type { IncomingMessage } from "node:http";
import { ServiceError } from "../shared/errors.ts";

const scheme = /^https?:\/\//i;

/** `GET http://host/path` is what proxies receive, and every server must accept it (RFC 9112, 3.2.2). */
export function toOriginForm(request: IncomingMessage): void {
  const [found] = scheme.exec(request.url ?? "") ?? [];
  if (found === undefined) return;
  const rest = request.url?.slice(found.length) ?? "";
  const end = rest.search(/[/?#]/);
  const path = end < 0 ? "" : rest.slice(end);
  request.url = path.startsWith("/") ? path : `/${path}`;
}

/** @throws ServiceError 415: bodies are not decompressed, because a few compressed kilobytes can be gigabytes */
export function refuseEncodedBody({ headers }: IncomingMessage): void {
  const coding = headers["content-encoding"]?.trim().toLowerCase();
  if (coding !== undefined && coding !== "" && coding !== "identity")
    throw new ServiceError(
      415,
      "unsupported_encoding",
      "A body must be sent as it is, without Content-Encoding",
    );
}
