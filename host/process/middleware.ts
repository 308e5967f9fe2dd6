// Moleculer's hooks in one place. They open and close the process's runtime with the broker, and enforce the rules of every
// action on every node: no action without a declared access, no caller without permission, and no raw error leaves the node.
import type { EntitySchema } from "@mikro-orm/core";
import { type Context, Errors, type Middleware, type Service, type ServiceBroker } from "moleculer";
import { assertAccess } from "../../services/shared/access.ts";
import { notifyNodes } from "../nats/bus-link.ts";
import { Caller } from "../../services/shared/caller.ts";
import { StartError } from "../../services/shared/start-error.ts";
import { AskAnother, Forbidden } from "../../services/shared/errors.ts";
import { translate } from "../../services/shared/failures.ts";
import { assertOwnTenant } from "../../services/shared/own-tenant.ts";
import type { RecordsAction, RecordsSchema } from "../../services/shared/bus/schemas.ts";
import { accountName, operatorCaller } from "../../services/shared/operator.ts";
import { ProcessHealth } from "./process-health.ts";
import { measuredAction, timedCall } from "../metrics/measured-actions.ts";
import type { Runtime } from "./runtime.ts";
import { sessionCheckOf } from "../../services/shared/session-check.ts";
import { withTraceparent, tracedAction } from "../../services/shared/bus/traced-actions.ts";

/** @param isClient whether the node offers no services: an operator's program */
export function recordsMiddleware(
  runtime: Runtime,
  onFailure: (reason: string) => void,
  isClient = false,
): Middleware {
  let health: ProcessHealth | undefined;
  const { comparison, phases } = runtime;
  return {
    name: "records",
    serviceCreating(service: Service) {
      Object.assign(service, { runtime });
    },
    created() {
      // Runs first when the process is ready: before a port is opened.
      phases.onceReady(() => comparison.assertFits());
    },
    async starting(broker: ServiceBroker) {
      if (broker.services.length === 0 && !isClient)
        throw new StartError("SERVICES names no service of this program.");
      health = await serveHealth(broker, runtime);
      const { metricsPort, metricsHost } = runtime.config;
      if (metricsPort !== undefined) await runtime.metrics?.listen(metricsPort, metricsHost);
      await runtime.tracing.open(runtime.config, runtime.log);
      await phases.check();
      await runtime.open(entitiesOf(broker), onFailure);
      // A node without services has no settings that others depend on.
      if (!isClient) comparison.publish(broker, onFailure);
    },
    // The bus is connected, and the other nodes were asked to introduce themselves. Services run jobs from their start on.
    serviceStarting: async () => comparison.assertFits(),
    async started(broker: ServiceBroker) {
      comparison.assertFits();
      await notifyNodes(broker);
      phases.onceReady(async () => {
        await comparison.ready();
        health?.serving();
      });
    },
    async stopped() {
      await runtime.close();
      runtime.metrics?.close();
      health?.close();
      await runtime.tracing.close();
    },
    localAction: (next, action) =>
      tracedAction(
        measuredAction(guardedAction(next, action as RecordsAction, runtime), action, runtime),
        action,
        runtime,
      ),
    remoteAction: (next, action) => timedCall(withTraceparent(next), action.name, runtime),
    localEvent: (next, event) => guardedEvent(next, event.name ?? "", runtime),
    call: operatorCalls,
  };
}

async function serveHealth(broker: ServiceBroker, runtime: Runtime): Promise<ProcessHealth | undefined> {
  const { healthPort, host, natsUrls, natsTlsFirst } = runtime.config;
  if (healthPort === undefined) return undefined;
  const health = new ProcessHealth({
    port: healthPort,
    host,
    broker,
    natsUrls,
    natsTlsFirst,
    databaseUrl: () => runtime.databaseUrl,
    needs: () => runtime.phases.needed(),
  });
  await health.listen();
  return health;
}

function entitiesOf(broker: ServiceBroker): EntitySchema[] | undefined {
  const declared = broker.services.flatMap((service) => {
    const { entities } = service.schema as RecordsSchema;
    return entities === undefined ? [] : [entities];
  });
  return declared.length === 0 ? undefined : [...new Set(declared.flat())];
}

type Handler = (ctx: Context) => Promise<unknown>;
type EventHandler = (ctx: Context) => void | Promise<void>;

function guardedAction(next: Handler, action: RecordsAction, runtime: Runtime): Handler {
  // Private actions are called only by methods of their own service, never over the bus.
  if (action.visibility === "private") return next;
  return async (ctx) => {
    if (!runtime.phases.isReady) assertOfTheStart(ctx, action);
    if (runtime.isDatabaseSilent && isForAnother(ctx, action)) throw notHere(ctx, action);
    try {
      const { caller: sent } = ctx.meta as { caller?: unknown };
      const told = Caller.read(sent);
      assertAccess(action.access, told);
      if (told === undefined) throw new Forbidden();
      runtime.callsForOthers.add(action.name, told);
      const caller = await currentCaller(action, told, ctx.broker);
      if (caller !== told) assertAccess(action.access, caller);
      if (action.namesTenant === true) assertOwnTenant(caller, ctx.params);
      Object.assign(ctx.locals, { caller });
      return await next(ctx);
    } catch (error) {
      if (error instanceof AskAnother) throw notHere(ctx, action);
      const { publicError: told, shouldLog: noteworthy } = translate(error);
      if (noteworthy) runtime.log.error({ action: action.name, err: error }, "failed");
      throw told;
    }
  };
}

/**
 * While the first data are created, a correct password would be refused. A caller on another node gets the error that this node
 * does not have the action yet (it tries elsewhere, and finally gets 503). Calls of the services themselves are allowed.
 */
function assertOfTheStart(ctx: Context, action: RecordsAction): void {
  const { caller } = ctx.meta as { caller?: unknown };
  if (Caller.read(caller)?.principal.kind === "system") return;
  throw notHere(ctx, action);
}

/**
 * The call has done nothing yet, and another process may still reach the database. Health reports are answered by this node
 * itself.
 */
const isForAnother = ({ nodeID, broker }: Context, { name }: RecordsAction): boolean =>
  nodeID !== broker.nodeID && !name.startsWith("health.");

/** The caller's node tries another one (moleculer.config.ts); finally the answer is 503. */
const notHere = ({ broker }: Context, { name }: RecordsAction) =>
  new Errors.ServiceNotAvailableError({ action: name, nodeID: broker.nodeID });

/** Only actions for users check the session: internal actions are called by actions that have already done so. */
async function currentCaller(
  { access }: RecordsAction,
  told: Caller,
  broker: ServiceBroker,
): Promise<Caller> {
  return access?.who === "signed-in" || access?.who === "roles" ? sessionCheckOf(broker).refresh(told) : told;
}

/** Events of other services; an event without a valid signature of a node is dropped. Moleculer's own events begin with `$`. */
function guardedEvent(next: EventHandler, name: string, runtime: Runtime): EventHandler {
  if (name.startsWith("$")) return next;
  return async (ctx) => {
    try {
      const { caller: sent } = ctx.meta as { caller?: unknown };
      if (Caller.read(sent) === undefined) throw new Forbidden();
      await next(ctx);
    } catch (error) {
      runtime.log.warn({ event: name, err: error }, "event not handled");
    }
  };
}

// Moleculer declares this hook as if it returned a promise; it returns the wrapped function.
const operatorCalls = ((next: (...call: unknown[]) => unknown) =>
  (name: unknown, params: unknown, opts: CallOptions) =>
    next(name, params, asOperator(opts))) as unknown as NonNullable<Middleware["call"]>;

type CallOptions = { parentCtx?: unknown; meta?: object } | undefined;

/** A call typed at this process's REPL is made by the person at the terminal; `$repl` from anywhere else proves nothing. */
function asOperator(opts: CallOptions): CallOptions {
  if (opts?.meta === undefined || opts.parentCtx !== undefined || !("$repl" in opts.meta)) return opts;
  return { ...opts, meta: { caller: operatorCaller(accountName()) } };
}
