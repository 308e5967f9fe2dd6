// The broker's configuration, for our own start and for Moleculer's runner alike. Reads the settings, makes the
// process's runtime, and states every bound of the bus.
import type { BrokerOptions, ServiceBroker } from "moleculer";
import { busLink } from "./host/nats/bus-link.ts";
import { NodeWatch } from "./services/shared/bus/bus-silence.ts";
import { bareAnswers } from "./services/shared/bus/bare-answers.ts";
import { busBundles } from "./services/shared/bus/bus-bundles.ts";
import { busParts } from "./services/shared/bus/bus-parts.ts";
import { BusSeal } from "./services/shared/bus/bus-seal.ts";
import { busStarts } from "./services/shared/bus/bus-starts.ts";
import { readConfig } from "./host/settings/config.ts";
import { drainMs } from "./services/shared/drain.ts";
import type { Config } from "./host/settings/settings.ts";
import { createLog } from "./host/process/log.ts";
import { levelsOf } from "./services/shared/log-levels.ts";
import { type SignIn, seed } from "./host/seed.ts";
import { recordsMiddleware } from "./host/process/middleware.ts";
import { natsLink } from "./host/nats/nats-options.ts";
import { NatsTransporter } from "./host/nats/nats-transporter.ts";
import { Runtime } from "./host/process/runtime.ts";
import { sealedBus } from "./services/shared/bus/sealed-bus.ts";

export interface Assembled {
  config: Config;
  runtime: Runtime;
  options: BrokerOptions;
  flushLog: () => void;
  /** To be printed, once the broker has started. */
  signIns: readonly SignIn[];
}

/** In production a terminal is a program's too. */
export const isForPeople = ({ production }: Config) => !production && process.stdout.isTTY;

/** Of a node that offers nothing: an operator's program, whose standard output is for its answers. */
export interface Visit {
  isVisitor: boolean;
  /** The file descriptor of the log. */
  logTo: number;
}

/** @param onFailure told when the process cannot go on (the embedded database died) */
export function assemble(config: Config, onFailure: (reason: string) => void, visit?: Visit): Assembled {
  const { log, flush } = createLog(config.logLevel, visit?.logTo ?? 1, isForPeople(config));
  const runtime = new Runtime(config, log);
  const signIns: SignIn[] = [];
  const started = async (broker: ServiceBroker) => {
    signIns.push(...(await seed(broker, runtime)));
    await runtime.phases.ready();
  };
  const options = {
    ...brokerOptions(config, runtime, onFailure, visit?.isVisitor === true),
    started,
  };
  return { config, runtime, flushLog: flush, options, signIns };
}

function brokerOptions(
  config: Config,
  runtime: Runtime,
  onFailure: (reason: string) => void,
  isVisitor: boolean,
): BrokerOptions {
  const nats = natsLink(config);
  const watch = new NodeWatch();
  return {
    namespace: config.namespace,
    nodeID: config.nodeId,
    ...(nats === undefined ? {} : { transporter: watched(new NatsTransporter(nats.options), watch) }),
    logger: {
      type: "Pino",
      // Moleculer's debug lines hold parameters; warnings and errors are all that is wanted of it.
      options: {
        level: "warn",
        createLogger: (_level: string, bindings: object) =>
          levelsOf(runtime.log).child("bus", { bindings, atLeast: "warn" }),
      },
    },
    // Parameters are checked by the contracts; see implement() in services/shared/bus/bus.ts.
    validator: false,
    // $node.* would tell every node's host facts to whoever reaches the bus.
    internalServices: false,
    requestTimeout: config.requestTimeoutMs,
    maxCallLevel: 20,
    // On the caller's side, for calls over the bus alone.
    retryPolicy: { enabled: true, retries: 3, delay: 50, maxDelay: 200, factor: 2, check: neverRan },
    tracking: { enabled: true, shutdownTimeout: drainMs(config) },
    heartbeatInterval: 2,
    heartbeatTimeout: 6,
    registry: {
      strategy: watch.strategy(),
      preferLocal: true,
      // What nobody calls need not wait for late calls.
      stopDelay: nats === undefined || isVisitor ? 0 : 500,
    },
    transit: { maxQueueSize: 5_000 },
    errorHandler: null,
    skipProcessEventRegistration: true,
    // A message is cut or bundled with others, and what comes of it is sealed; of these three the first is nearest to the wire.
    middlewares: [
      recordsMiddleware(runtime, onFailure, isVisitor),
      sealedBus(
        () => new BusSeal(runtime.secrets.bus, runtime.droppedMessages),
        runtime.droppedMessages,
        runtime.busTraffic,
        (sentence) => runtime.log.warn(sentence),
      ),
      bareAnswers(),
      busBundles(),
      busParts(),
      ...(nats === undefined ? [] : [watch.middleware()]),
      busStarts(runtime.droppedMessages),
      ...(nats === undefined ? [] : [busLink(nats, runtime.log, runtime.busTraffic)]),
    ],
  };
}

/**
 * A node that is stopping refuses what reaches it before the news does: another one may still do it. What may run twice
 * is refused by the same name when its node does not answer (bus-silence.ts).
 */
function neverRan({ name }: Error): boolean {
  return name === "ServiceNotAvailableError" || name === "ServiceNotFoundError";
}

function watched(transporter: NatsTransporter, watch: NodeWatch): NatsTransporter {
  transporter.onUnheard = (node) => watch.unheard(node);
  return transporter;
}

// For Moleculer's own runner: `moleculer-runner --config moleculer.config.ts` and the service files.
export default function forRunner(): BrokerOptions {
  return assemble(readConfig(process.env), (reason) => {
    process.stderr.write(`${reason}\n`);
    process.exit(1);
  }).options;
}
