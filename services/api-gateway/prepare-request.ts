// Prepares the call of an action. The checks run in the order that the interface promises: declared length (413), signed in
// (401, or 429 for an address with too many invalid tokens), rate (429), access (403), encoding (415). Only then the body is
// accepted: actual length (413), and after that the parameters (422), which the action itself checks on its node.
import type { ServerResponse } from "node:http";
import type { Context } from "moleculer";
import { assertAccess } from "../shared/access.ts";
import { Caller } from "../shared/caller.ts";
import { tenantRestoring, Unauthorized, Unavailable } from "../shared/errors.ts";
import { assertOwnTenant } from "../shared/own-tenant.ts";
import { parseQuery } from "../shared/params/query.ts";
import { principalOf } from "../shared/session-check.ts";
import type { Endpoint } from "./endpoint.ts";
import type { GatewayRequest } from "./gateway-request.ts";
import { assertDeclaredFits, expectBody, readBody } from "./read-body.ts";
import { refuseEncodedBody } from "./request-form.ts";
import type { RequestRates } from "./request-rates.ts";
import { tokenQuestionsOf } from "./token-questions.ts";

const bearer = /^Bearer +([\w.~+/=-]+) *$/i;
const gateway = "api-gateway";

export interface Prepared {
  caller: Caller;
  params: Record<string, unknown>;
}

export async function prepareRequest(
  ctx: Context,
  endpoint: Endpoint,
  request: GatewayRequest,
  response: ServerResponse,
  rates: RequestRates,
): Promise<Prepared> {
  const { held } = request;
  // A request without a slot was refused earlier.
  if (held === undefined) throw new Unavailable();
  const bound = {
    held,
    bytesMax: endpoint.bodyBytesMax,
    ...(endpoint.contract.rawBody === undefined ? {} : { kind: "notification" as const }),
  };
  assertDeclaredFits(request, bound.bytesMax);
  const token = endpoint.isPublic ? undefined : tokenOf(request);
  expectBody(request, bound);
  const caller = await identify(ctx, endpoint, request, token, rates);
  // The caller is known from here on, so a refusal is recorded under the right name.
  request.caller = caller;
  rates.take(endpoint, caller);
  if (caller.principal.kind === "user") held.weigh(caller.principal.userId, endpoint.contract.weight);
  assertAccess(endpoint.contract.access, caller);
  if (endpoint.takesBody) refuseEncodedBody(request);
  const bytes = endpoint.takesBody ? await readBody(request, response, bound) : undefined;
  if (bytes !== undefined) rates.takeBody(caller, bytes.length);
  const read = bytes === undefined ? { body: {} } : endpoint.readBody(bytes, request.headers["content-type"]);
  const search = request.url?.indexOf("?") ?? -1;
  const query = search < 0 ? {} : parseQuery(request.url?.slice(search + 1) ?? "");
  const body = "body" in read ? read.body : undefined;
  const params = endpoint.gather({ path: request.pathParams ?? {}, query, header: request.headers, body });
  assertOwnTenantUnlessInPath(endpoint, caller, params);
  if ("fault" in read) endpoint.refuse(params, read.fault, read.alone);
  request.$endpoint = freshEndpoint(ctx, endpoint);
  return { caller, params };
}

/** moleculer-web chose a node before these checks, which take time; the node may have died since. */
function freshEndpoint({ broker }: Context, { route }: Endpoint): unknown {
  const found = broker.findNextActionEndpoint(route.action);
  if (found instanceof Error) throw found;
  return found;
}

/** A foreign tenant in the path is answered 404 by the action; in query or body it is forbidden. */
function assertOwnTenantUnlessInPath(
  endpoint: Endpoint,
  caller: Caller,
  params: Record<string, unknown>,
): void {
  if (!Object.hasOwn(endpoint.contract.path ?? {}, "tenant_id")) assertOwnTenant(caller, params);
}

/** @throws Unauthorized when there is no token */
function tokenOf({ headers: { authorization } }: GatewayRequest): string {
  const token = authorization === undefined ? undefined : bearer.exec(authorization)?.[1];
  if (token === undefined) throw new Unauthorized();
  return token;
}

/** Errors from the bus keep their fields, but are not instances of their class. */
const isUnauthorized = (error: unknown) => error instanceof Error && "code" in error && error.code === 401;

/** @param token undefined where none is needed */
async function identify(
  ctx: Context,
  endpoint: Endpoint,
  request: GatewayRequest,
  token: string | undefined,
  rates: RequestRates,
): Promise<Caller> {
  const base = {
    via: gateway,
    requestId: request.requestId,
    ip: request.clientIp,
    userAgent: request.headers["user-agent"]?.slice(0, 300) ?? null,
  };
  const anonymous = new Caller({ ...base, principal: { kind: "anonymous" } });
  if (token === undefined) return anonymous;
  const readAt = Date.now();
  const ask = () => tokenQuestionsOf(ctx.broker).ask(ctx, token, anonymous);
  const holder = await rates.whileAsking(token, request.clientIp, ask, isUnauthorized);
  if (holder.frozen && endpoint.contract.duringRestore !== true) throw tenantRestoring();
  return new Caller({ ...base, principal: principalOf(holder, readAt) });
}
