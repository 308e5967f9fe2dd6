// Writing answers.
import type { ServerResponse } from "node:http";
import type { Caller } from "../shared/caller.ts";
import type { Fields } from "../shared/params/types.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { AnswerBudget } from "./answer-budget.ts";
import { type Coding, codingFor, compress, compressedBytesMin } from "./compression.ts";
import { toErrorResponse } from "./error-response.ts";
import type { GatewayRequest } from "./gateway-request.ts";
import { MethodNotAllowed } from "./routing.ts";

function sendJson(answers: AnswerBudget, response: ServerResponse, status: number, body: string): void {
  const bytes = Buffer.byteLength(body);
  answers.hold(response, bytes);
  writeJson(response, status, body, bytes);
}

function writeJson(response: ServerResponse, status: number, body: string | Buffer, bytes: number): void {
  response.statusCode = status;
  response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Content-Length", bytes);
  response.end(body);
}

/** Sends an answer to GET, compressed as the client allows. Its full size counts until the client has read it. */
async function sendCompressed(
  answers: AnswerBudget,
  response: ServerResponse,
  body: string,
  coding: Coding,
): Promise<void> {
  const bytes = Buffer.from(body);
  answers.hold(response, bytes.length);
  const compressed = await compress(bytes, coding, "each").catch(() => undefined);
  // The client may have disconnected meanwhile.
  if (response.destroyed) return;
  if (compressed !== undefined) response.setHeader("Content-Encoding", coding);
  writeJson(response, 200, compressed ?? bytes, (compressed ?? bytes).length);
}

export function sendResult(
  answers: AnswerBudget,
  { endpoint, headers }: GatewayRequest,
  response: ServerResponse,
  result: unknown,
): void {
  const status = endpoint?.route.status ?? 200;
  // Public answers may be cached. The token of a sign-in may not, although it needs no token.
  const storable = endpoint?.contract.access.who === "public" && endpoint.route.method === "GET";
  if (!storable) response.setHeader("Cache-Control", "no-store");
  const body = withoutHeaders(response, endpoint?.contract.answerHeaders, result);
  if (status !== 204) {
    const text = JSON.stringify(body ?? null);
    if (endpoint?.route.method !== "GET") return sendJson(answers, response, status, text);
    response.appendHeader("Vary", "Accept-Encoding");
    // The length in characters, which is never more than the length in bytes.
    const coding = text.length < compressedBytesMin ? undefined : codingFor(headers["accept-encoding"]);
    if (coding === undefined) return sendJson(answers, response, status, text);
    return void sendCompressed(answers, response, text, coding);
  }
  response.statusCode = 204;
  response.end();
}

/** Moves the fields that the contract declares as headers. @returns the remaining fields, which are the body */
function withoutHeaders(response: ServerResponse, headers: Fields | undefined, result: unknown): unknown {
  if (headers === undefined || typeof result !== "object" || result === null) return result;
  const body = new Map(Object.entries(result));
  for (const [name, { header = name }] of Object.entries(headers)) {
    response.setHeader(header, String(body.get(name)));
    body.delete(name);
  }
  return Object.fromEntries(body);
}

/** Writes the audit entry of a refusal. */
export type RecordRefusal = (
  entry: { action: string; code: string; target_id?: string },
  caller: Caller,
) => Promise<unknown>;

export async function sendError(
  { log }: Runtime,
  answers: AnswerBudget,
  record: RecordRefusal,
  request: GatewayRequest,
  response: ServerResponse,
  error: unknown,
): Promise<void> {
  if (response.headersSent || response.destroyed) return;
  const { status, code, body, headers, noteworthy } = toErrorResponse(error);
  request.errorCode = code;
  if (noteworthy) log.error({ requestId: request.requestId, err: error }, "request failed");
  if (status === 403) {
    await recordRefusal(record, request, code).catch((failure: unknown) =>
      log.error({ requestId: request.requestId, err: failure }, "refusal not recorded"),
    );
  }
  if (error instanceof MethodNotAllowed) response.setHeader("Allow", error.allow);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader("Cache-Control", "no-store");
  sendJson(answers, response, status, body);
}

/** A refusal of a signed-in user has an audit entry, which is written before the answer is sent. */
async function recordRefusal(record: RecordRefusal, request: GatewayRequest, code: string): Promise<void> {
  const { caller, endpoint } = request;
  if (caller?.principal.kind !== "user" || endpoint === undefined) return;
  const named = Object.values(request.pathParams ?? {})[0];
  const target = typeof named === "string" && /^\d{1,10}$/.test(named) ? { target_id: named } : {};
  await record({ action: endpoint.contract.audits, code, ...target }, caller);
}
