// Pages and files beside the API. The path of a request is looked up in a fixed table and never used as the path of a file,
// so path traversal is impossible.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Config } from "../../host/settings/settings.ts";
import { ServiceError } from "../shared/errors.ts";
import { usesPublishedPassword } from "../shared/demo-sign-in.ts";
import { type Coding, codingFor, compress, compressedBytesMin } from "./compression.ts";
import { toErrorResponse } from "./error-response.ts";
import { openApiDocument } from "./openapi.ts";
import { type Page, pageOf, readPages } from "./pages/page-files.ts";
import { routes } from "./routes.ts";

/** The access log shows the code of a refusal. */
type Logged = IncomingMessage & { errorCode?: string };

const notAllowed = toErrorResponse(new ServiceError(405, "method_not_allowed", "Method not allowed"));

/** @returns a handler that returns whether it answered the request */
export function staticPages(config: Config): (request: Logged, response: ServerResponse) => boolean {
  const pages = readPages();
  pages.set("/openapi.json", pageOf(describeInterface(config), "application/json; charset=utf-8"));
  return (request, response) => {
    const page = pages.get(request.url?.split("?")[0] ?? "");
    if (page === undefined) return false;
    if (request.method === "GET" || request.method === "HEAD") void send(page, request, response);
    else refuse(request, response);
    return true;
  };
}

function describeInterface(config: Config): Buffer {
  const facts = { publicUrl: config.publicUrl, demoSignIn: usesPublishedPassword(config) };
  return Buffer.from(JSON.stringify(openApiDocument(routes, facts)));
}

async function send(page: Page, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const coding =
    page.bytes.length < compressedBytesMin ? undefined : codingFor(request.headers["accept-encoding"]);
  for (const [name, value] of Object.entries(page.headers)) response.setHeader(name, value);
  // Each encoding of a page has its own ETag.
  const tag = coding === undefined ? page.tag : `${page.tag}.${coding}`;
  response.setHeader("ETag", `"${tag}"`);
  response.appendHeader("Vary", "Accept-Encoding");
  if (isKnown(request.headers["if-none-match"], `"${tag}"`)) {
    response.statusCode = 304;
    response.end();
    return;
  }
  const small = coding === undefined ? undefined : await compressed(page, coding).catch(() => undefined);
  const bytes = small ?? page.bytes;
  response.setHeader("Content-Type", page.type);
  if (coding !== undefined && small !== undefined) response.setHeader("Content-Encoding", coding);
  response.setHeader("Content-Length", bytes.length);
  response.end(request.method === "HEAD" ? undefined : bytes);
}

/** Created at the first request and kept: there are a dozen pages and two encodings. */
function compressed(page: Page, coding: Coding): Promise<Buffer> {
  const known = page.compressed.get(coding);
  if (known !== undefined) return known;
  const made = compress(page.bytes, coding, "once");
  page.compressed.set(coding, made);
  return made;
}

/** `If-None-Match` is a list; the comparison is weak. */
function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((each) => ["*", etag].includes(each.trim().replace(/^W\//, "")));
}

function refuse(request: Logged, response: ServerResponse): void {
  const { status, code, body } = notAllowed;
  request.errorCode = code;
  response.setHeader("Allow", "GET, HEAD");
  response.setHeader("Cache-Control", "no-store");
  response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Content-Length", Buffer.byteLength(body));
  response.statusCode = status;
  response.end(body);
}
