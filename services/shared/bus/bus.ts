// The bus, typed. A contract declares a service's actions: who may call them, their parameters and their result; it
// adds itself to `Actions` (and its events to `Events`) by declaration merging, so `call.bus("users.get", {…})` is
// checked for name, parameters and result without any import between services.
import type { Context, Service, ServiceBroker, ServiceSchema } from "moleculer";
import type { RecordsAction } from "./schemas.ts";
import type { Access } from "../access.ts";
import { Caller } from "../caller.ts";
import type { Database } from "../database/database.ts";
import { Forbidden, Invalid, NotFound } from "../errors.ts";
import { offeringNodes } from "./nodes.ts";
import { compileParams } from "../params/compile.ts";
import { paramSummary } from "../params/summary.ts";
import type {
  AnyRule,
  Fields,
  FieldValues,
  InputOf,
  ParamsOf,
  ParamSources,
  ValueOf,
} from "../params/types.ts";
import type { RawBody } from "../raw-body.ts";
import type { Runtime } from "../../../host/process/runtime.ts";

export interface ActionContract extends ParamSources {
  readonly access: Access;
  /** How the audit log names it, `resource.verb`: for the entry of a refusal too. */
  readonly audits: string;
  /** One sentence for the API's documentation. */
  readonly summary: string;
  readonly result?: AnyRule;
  /** What of the answer travels in headers, beside the result's own fields; each a text `inHeader`. */
  readonly answerHeaders?: Fields;
  /** Set: the body may be left out, and then all its fields are absent. */
  readonly bodyOptional?: true;
  /** How many requests of the caller's rate a call counts for; 1 unless it is stated. */
  readonly weight?: number;
  /** Set: the action takes the body as it was sent, for who signs bytes. See raw-body.ts. */
  readonly rawBody?: RawBody;
  /** Set: the result says where the gateway fetches a file for the client. See archive/download.ts. */
  readonly download?: true;
  /** The codes of its own that it refuses with, by status; what follows from the rest of the contract need not be said. */
  readonly refuses?: Refusals;
  /** A body that works as it stands in a fresh demo, or would if what it names were there. */
  readonly example?: Readonly<Record<string, unknown>>;
  /** Set: also answered to those whose tenant is being restored; all else is 503 to them. */
  readonly duringRestore?: true;
  /**
   * Set: it only reads, or a second run changes nothing more than the first. So it is called elsewhere when its node does not
   * answer, though it may have run there; anything else is refused then. See bus-silence.ts.
   */
  readonly repeatable?: true;
}

type Refusals = Readonly<Partial<Record<400 | 401 | 403 | 404 | 409 | 422 | 503, readonly string[]>>>;

export type Contract = Readonly<Record<string, ActionContract>>;

/** Contracts merge into it. */
export interface Actions {}
/** Contracts merge into it. */
export interface Events {}

/** An action without a declared result answers nothing (204). */
export type ResultOf<A> = (A extends { result: infer R } ? ValueOf<R> : void) &
  (A extends { answerHeaders: infer H } ? FieldValues<H> : unknown);

/** What a contract adds to `Actions`: name → input, params, result. */
export type ActionsOf<C extends Contract> = {
  [K in keyof C]: { input: InputOf<C[K]>; params: ParamsOf<C[K]>; result: ResultOf<C[K]> };
};

type Input<K extends keyof Actions> = Actions[K] extends { input: infer I } ? I : never;
type Result<K extends keyof Actions> = Actions[K] extends { result: infer R } ? R : never;

/** One call in progress, as a handler sees it. */
export class Call<P> {
  readonly params: P;
  readonly caller: Caller;
  readonly runtime: Runtime;
  readonly #ctx: Context<unknown, object>;
  readonly #service: string;

  constructor(ctx: Context<unknown, object>, params: P, caller: Caller, service: string, runtime: Runtime) {
    this.#ctx = ctx;
    this.params = params;
    this.caller = caller;
    this.#service = service;
    this.runtime = runtime;
  }

  get db(): Database {
    return this.runtime.database;
  }

  /** For work that is done for the service itself, and not for the caller. */
  get broker(): ServiceBroker {
    return this.#ctx.broker;
  }

  /**
   * Calls another service's action on behalf of the same caller.
   * @param timeoutMs instead of the bus's own 10 s
   */
  bus<K extends keyof Actions>(name: K, input: Input<K>, timeoutMs?: number): Promise<Result<K>> {
    const meta = { caller: this.caller.through(this.#service) };
    return this.#ctx.call(name, input, timeoutMs === undefined ? { meta } : { meta, timeout: timeoutMs });
  }

  /** The same for the service itself: one call for what several callers have asked. */
  busForService<K extends keyof Actions>(name: K, input: Input<K>, timeoutMs: number): Promise<Result<K>> {
    const meta = { caller: Caller.system(this.#service) };
    return this.#ctx.broker.call(name, input, { meta, timeout: timeoutMs });
  }

  /** Calls an action on every node that offers it. @returns the answers of those that answered in time */
  async busEach<K extends keyof Actions>(name: K, input: Input<K>, timeoutMs: number): Promise<Result<K>[]> {
    const [service = ""] = name.split(".");
    const calls = offeringNodes(this.#ctx.broker, service).map((nodeID) =>
      this.busAt(nodeID, name, input, timeoutMs),
    );
    const settled = await Promise.allSettled(calls);
    return settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  }

  /** Calls an action on one node; another node's answer is no answer of this one. */
  busAt<K extends keyof Actions>(nodeID: string, name: K, input: Input<K>, ms: number): Promise<Result<K>> {
    const meta = { caller: this.caller.through(this.#service) };
    return this.#ctx.call(name, input, { nodeID, timeout: ms, retries: 0, meta });
  }

  /** "ok" while this node can reach the others; always so when the bus is in-process. */
  busState(): "ok" | "down" {
    const { transit } = this.#ctx.broker;
    return transit == null || transit.connected ? "ok" : "down";
  }

  /**
   * Tells the other services something that is already committed. A hint: facts that must not be lost are events of the outbox.
   */
  hint<K extends keyof Events>(name: K, payload: Events[K]): void {
    void this.#ctx.emit(name, payload, { meta: { caller: this.caller.through(this.#service) } });
  }
}

/** Calls an action for the service itself: from a job, a schedule or start-up. */
export function callAs<K extends keyof Actions>(
  broker: ServiceBroker,
  service: string,
  name: K,
  input: Input<K>,
): Promise<Result<K>> {
  return broker.call(name, input, { meta: { caller: Caller.system(service) } });
}

type Handlers<C extends Contract> = {
  [K in keyof C & string]: (call: Call<ParamsOf<C[K]>>) => Promise<ResultOf<C[K]>>;
};

/**
 * Turns a contract and its handlers into Moleculer actions: every action of the contract must have a handler, and a
 * handler runs only after access (middleware) and parameters were checked on this node.
 * @param contract its names all begin with the service's own name and a dot
 */
export function implement<const C extends Contract>(
  contract: C,
  handlers: Handlers<C>,
): NonNullable<ServiceSchema["actions"]> {
  const actions: NonNullable<ServiceSchema["actions"]> = {};
  for (const [name, spec] of Object.entries(contract)) {
    const [service, action] = name.split(".");
    if (service === undefined || action === undefined)
      throw new Error(`${name} is not a service.action name`);
    const check = compileParams(spec);
    // Object.entries loses the tie between a name and its handler's parameter type.
    const handler = handlers[name] as unknown as (call: Call<unknown>) => Promise<unknown>;
    const schema: RecordsAction = {
      name: action,
      access: spec.access,
      // Nothing checks by it (the broker has no validator): it is what the REPL shows.
      params: paramSummary(spec),
      repeatable: spec.repeatable === true,
      namesTenant: "tenant_id" in { ...spec.query, ...spec.body },
      handler(this: Service, ctx: Context<Record<string, unknown>>) {
        const checked = check(ctx.params ?? {});
        if ("params" in checked) {
          return handler(new Call(ctx, checked.params, callerOf(ctx), service, runtimeOf(this)));
        }
        throw "notFound" in checked ? NotFound.named(checked.notFound) : new Invalid(checked.failures);
      },
    };
    actions[action] = schema;
  }
  return actions;
}

/** The middleware has verified the caller before any handler of ours runs. */
function callerOf(ctx: Context): Caller {
  const { caller } = ctx.locals as { caller?: Caller };
  if (caller === undefined) throw new Forbidden();
  return caller;
}

/** Our middleware puts the runtime on every service before it is created; Moleculer's types cannot know. */
export function runtimeOf(service: Service): Runtime {
  return (service as Service & { runtime: Runtime }).runtime;
}
