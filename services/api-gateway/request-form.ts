// Requests that mean the same as others in another form, brought into the one form that all else expects.
import type { IncomingMessage } from "node:http";
import { ServiceError } from "../shared/errors.ts";

const scheme = /^https?:\/\//i;

/** `GET http://host/path` is what proxies are sent, and every server has to take it (RFC 9112, 3.2.2). */
export function toOriginForm(request: IncomingMessage): void {
  const [found] = scheme.exec(request.url ?? "") ?? [];
  if (found === undefined) return;
  const rest = request.url?.slice(found.length) ?? "";
  const end = rest.search(/[/?#]/);
  const path = end < 0 ? "" : rest.slice(end);
  request.url = path.startsWith("/") ? path : `/${path}`;
}

/** @throws ServiceError 415: bodies are read as they are; a few compressed kilobytes could be gigabytes */
export function refuseEncodedBody({ headers }: IncomingMessage): void {
  const coding = headers["content-encoding"]?.trim().toLowerCase();
  if (coding !== undefined && coding !== "" && coding !== "identity")
    throw new ServiceError(
      415,
      "unsupported_encoding",
      "A body must be sent as it is, without Content-Encoding",
    );
}
