// From a request to the call of an action, in the order the answers are promised: too large (413), not signed in (401),
// not allowed (403), then whatever is wrong with the parameters (422, by the action's own check on its node).
import type { Context } from "moleculer";
import { assertAccess } from "../shared/access.ts";
import { Caller, type Principal } from "../shared/caller.ts";
import { tenantRestoring, Unauthorized } from "../shared/errors.ts";
import { assertOwnTenant } from "../shared/middleware.ts";
import { parseQuery } from "../shared/params/query.ts";
import type { Endpoint } from "./endpoint.ts";
import type { GatewayRequest } from "./gateway-request.ts";
import { readBody } from "./read-body.ts";

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
): Promise<Prepared> {
  const bytes = await readBody(request, endpoint.bodyBytesMax);
  const caller = await identify(ctx, endpoint, request);
  // Known from here on, so that a refusal is recorded under the right name.
  request.caller = caller;
  assertAccess(endpoint.contract.access, caller);
  const read = endpoint.takesBody ? endpoint.readBody(bytes, request.headers["content-type"]) : { body: {} };
  const search = request.url?.indexOf("?") ?? -1;
  const query = search < 0 ? {} : parseQuery(request.url?.slice(search + 1) ?? "");
  const body = "body" in read ? read.body : undefined;
  const params = endpoint.gather({ path: request.pathParams ?? {}, query, header: request.headers, body });
  assertOwnTenantUnlessInPath(endpoint, caller, params);
  if ("fault" in read) endpoint.refuse(params, read.fault, read.alone);
  return { caller, params };
}

/** A foreign tenant in the path is not there (404, by the action); in query or body it is forbidden. */
function assertOwnTenantUnlessInPath(
  endpoint: Endpoint,
  caller: Caller,
  params: Record<string, unknown>,
): void {
  if (!Object.hasOwn(endpoint.contract.path ?? {}, "tenant_id")) assertOwnTenant(caller, params);
}

async function identify(ctx: Context, endpoint: Endpoint, request: GatewayRequest): Promise<Caller> {
  const base = {
    via: gateway,
    requestId: request.requestId,
    ip: request.clientIp,
    userAgent: request.headers["user-agent"]?.slice(0, 300) ?? null,
  };
  const anonymous = new Caller({ ...base, principal: { kind: "anonymous" } });
  if (endpoint.contract.access.who === "public") return anonymous;
  const header = request.headers.authorization;
  const token = header === undefined ? undefined : bearer.exec(header)?.[1];
  if (token === undefined) throw new Unauthorized();
  const holder = await ctx.call<Holder, { token: string }>(
    "auth.authenticate",
    { token },
    { meta: { caller: anonymous } },
  );
  if (holder.frozen && endpoint.contract.duringRestore !== true) throw tenantRestoring();
  return new Caller({ ...base, principal: toPrincipal(holder) });
}

interface Holder {
  user_id: number;
  tenant_id: number;
  role: Extract<Principal, { kind: "user" }>["role"];
  department_id: number | null;
  can_see_all_patients: boolean;
  session_id: string;
  frozen: boolean;
}

function toPrincipal(holder: Holder): Principal {
  return {
    kind: "user",
    userId: holder.user_id,
    tenantId: holder.tenant_id,
    role: holder.role,
    departmentId: holder.department_id,
    canSeeAllPatients: holder.can_see_all_patients,
    sessionId: holder.session_id,
  };
}
