// A route with everything compiled that its requests need.
import { bodyMissing, bodyNotAnObject } from "../shared/params/failure.ts";
import { compileGather, type Sent } from "../shared/params/gather.ts";
import { compileParams } from "../shared/params/compile.ts";
import { parseJsonBody } from "../shared/params/json-body.ts";
import type { Failure } from "../shared/params/types.ts";
import { Invalid } from "../shared/errors.ts";
import type { ActionContract } from "../shared/bus/bus.ts";
import { smallBodyBytesMax } from "./read-body.ts";
import { contractOf, type Route } from "./routes.ts";

const signedInBodyBytesMax = 1_048_576;

export class Endpoint {
  readonly route: Route;
  readonly contract: ActionContract;
  readonly takesBody: boolean;
  /** Needs no token. Its bodies are small, except those of notifications. */
  readonly isPublic: boolean;
  readonly bodyBytesMax: number;
  readonly #gather: (sent: Sent) => Record<string, unknown>;
  readonly #check: ReturnType<typeof compileParams>;

  constructor(route: Route) {
    this.route = route;
    this.contract = contractOf(route);
    this.takesBody = this.contract.body !== undefined;
    this.isPublic = this.contract.access.who === "public";
    this.bodyBytesMax =
      this.contract.rawBody?.bytesMax ?? (this.isPublic ? smallBodyBytesMax : signedInBodyBytesMax);
    this.#gather = compileGather(this.contract);
    this.#check = compileParams(this.contract);
  }

  /** One flat object with the declared parameters only, each from its declared source. */
  gather(sent: Sent): Record<string, unknown> {
    return this.#gather(sent);
  }

  /** Returns the body as an object. A body of another type fails together with the other parameters. */
  readBody(
    bytes: Buffer,
    contentType: string | undefined,
  ): { body: Record<string, unknown> } | { fault: Failure; alone: boolean } {
    if (this.contract.rawBody !== undefined) return { body: { content: bytes.toString("base64") } };
    if (bytes.length === 0)
      return this.contract.bodyOptional ? { body: {} } : { fault: bodyMissing(), alone: false };
    if (!isJson(contentType)) return { fault: bodyNotAnObject(), alone: false };
    const parsed = parseJsonBody(bytes);
    if ("failure" in parsed) return { fault: parsed.failure, alone: true };
    const { value } = parsed;
    if (value === null && this.contract.bodyOptional) return { body: {} };
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return { fault: bodyNotAnObject(), alone: false };
    }
    // An object from JSON.parse has string keys only.
    return { body: value as Record<string, unknown> };
  }

  /** @throws Invalid with all failures, including those of the body */
  refuse(flat: Record<string, unknown>, fault: Failure, alone: boolean): never {
    const checked = alone ? undefined : this.#check(flat, fault);
    throw new Invalid(checked !== undefined && "failures" in checked ? checked.failures : [fault]);
  }
}

/** A missing media type is read as JSON, as FastAPI does. */
function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === "") return true;
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  return type === "application/json" || /^application\/[\w.-]+\+json$/.test(type);
}
