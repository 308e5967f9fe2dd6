// The configuration of the broker, for our own start and for Moleculer's runner. It reads the settings, creates the process's
// runtime, and sets every bound of the bus.
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
  /** To be printed after the broker has started. */
  signIns: readonly SignIn[];
}

/** Whether to write for people. In production a terminal is read by programs too. */
export const isForPeople = ({ production }: Config) => !production && process.stdout.isTTY;

/** Options of a node without services: an operator's program, whose standard output is for its answers. */
export interface ClientNode {
  isClient: boolean;
  /** The file descriptor of the log. */
  logTo: number;
}

/** @param onFailure called when the process cannot continue (the embedded database has ended) */
export function assemble(config: Config, onFailure: (reason: string) => void, visit?: ClientNode): Assembled {
  const { log, flush } = createLog(config.logLevel, visit?.logTo ?? 1, isForPeople(config));
  const runtime = new Runtime(config, log);
  const signIns: SignIn[] = [];
  const started = async (broker: ServiceBroker) => {
    signIns.push(...(await seed(broker, runtime)));
    await runtime.phases.ready();
  };
  const options = {
    ...brokerOptions(config, runtime, onFailure, visit?.isClient === true),
    started,
  };
  return { config, runtime, flushLog: flush, options, signIns };
}

function brokerOptions(
  config: Config,
  runtime: Runtime,
  onFailure: (reason: string) => void,
  isClient: boolean,
): BrokerOptions {
  const nats = natsLink(config);
  const watch = new NodeWatch();
  return {
    namespace: config.namespace,
    nodeID: config.nodeId,
    ...(nats === undefined ? {} : { transporter: watched(new NatsTransporter(nats.options), watch) }),
    logger: {
      type: "Pino",
      // Moleculer's debug lines contain parameters; only its warnings and errors are logged.
      options: {
        level: "warn",
        createLogger: (_level: string, bindings: object) =>
          levelsOf(runtime.log).child("bus", { bindings, atLeast: "warn" }),
      },
    },
    // The contracts check parameters; see implement() in services/shared/bus/bus.ts.
    validator: false,
    // $node.* would reveal host facts of every node to anybody on the bus.
    internalServices: false,
    requestTimeout: config.requestTimeoutMs,
    maxCallLevel: 20,
    // At the caller's side, only for calls over the bus.
    retryPolicy: { enabled: true, retries: 3, delay: 50, maxDelay: 200, factor: 2, check: neverRan },
    tracking: { enabled: true, shutdownTimeout: drainMs(config) },
    heartbeatInterval: 2,
    heartbeatTimeout: 6,
    registry: {
      strategy: watch.strategy(),
      preferLocal: true,
      // A node that nobody calls does not need to wait for late calls.
      stopDelay: nats === undefined || isClient ? 0 : 500,
    },
    transit: { maxQueueSize: 5_000 },
    errorHandler: null,
    skipProcessEventRegistration: true,
    // A message is split or bundled with others, and the result is encrypted; the first of these three middlewares is nearest to
    // the transport.
    middlewares: [
      recordsMiddleware(runtime, onFailure, isClient),
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
 * A stopping node refuses calls that arrive before others know that it stops: another node may run them. A repeatable call gets
 * an error of the same name if its node does not answer (bus-silence.ts).
 */
function neverRan({ name }: Error): boolean {
  return name === "ServiceNotAvailableError" || name === "ServiceNotFoundError";
}

function watched(transporter: NatsTransporter, watch: NodeWatch): NatsTransporter {
  transporter.onUnheard = (node) => watch.unheard(node);
  return transporter;
}

// For Moleculer's own runner: `moleculer-runner --config moleculer.config.ts` with the service files.
/** @returns the options of a broker with a runtime of its own */
export default function forRunner(): BrokerOptions {
  return assemble(readConfig(process.env), (reason) => {
    process.stderr.write(`${reason}\n`);
    process.exit(1);
  }).options;
}
