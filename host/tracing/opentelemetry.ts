// OpenTelemetry's SDK behind our own spans; loaded only by open-tracing.ts. Our own hooks (gateway, actions, statements, jobs,
// deliveries) make the spans, and not its instrumentations: those patch packages while they are loaded, which ES modules do not
// allow, and would record values that must not leave the process. Moleculer's own tracing is not used either: it has no OTLP
// exporter, and its spans contain parameters.
import {
  type Attributes,
  type Context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind as Kind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer as OtelTracer,
} from "@opentelemetry/api";
import { ExportResultCode } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TracerProvider,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";
import type { Logger } from "pino";
import type { Config } from "../settings/settings.ts";
import type { OpenSpan, SpanFacts, SpanKind, Tracer } from "../../services/shared/tracing.ts";
import { version } from "../../services/shared/version.ts";
import type { StartedTracing } from "./open-tracing.ts";
import { readTraceparent } from "./traceparent.ts";

/** Finished spans that wait to be sent; further ones are dropped and counted. */
const waitingMax = 4_096;
const batchMax = 512;
const sendEveryMs = 2_000;
const sendMsMax = 5_000;
const closeMsMax = 5_000;
const warnEveryMs = 60_000;
const attributeCharsMax = 256;

const kinds: Readonly<Record<SpanKind, Kind>> = {
  server: Kind.SERVER,
  client: Kind.CLIENT,
  consumer: Kind.CONSUMER,
  internal: Kind.INTERNAL,
};

/** Starts the exporter. Spans are sent every 2 s in batches of at most 512. */
export function startTracing(config: Config, log: Logger): StartedTracing {
  const exporter = new OTLPTraceExporter({
    url: config.otelTracesEndpoint ?? `${config.otelEndpoint}/v1/traces`,
    headers: { ...(config.otelTracesHeaders ?? config.otelHeaders) },
    timeoutMillis: sendMsMax,
    concurrencyLimit: 2,
  });
  const processor = new BatchSpanProcessor({
    exporter: warning(exporter, log),
    maxQueueSize: waitingMax,
    maxExportBatchSize: batchMax,
    scheduledDelayMillis: sendEveryMs,
    exportTimeoutMillis: sendMsMax,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes(resourceOf(config)),
    sampler: samplerOf(config),
    spanLimits: { attributeValueLengthLimit: attributeCharsMax, attributeCountLimit: 16, linkCountLimit: 4 },
    spanProcessors: [processor],
  });
  return {
    tracer: new SdkTracer(provider.getTracer("records", version)),
    async close() {
      const late = AbortSignal.timeout(closeMsMax);
      const expired = new Promise<void>((resolve) => late.addEventListener("abort", () => resolve()));
      await Promise.race([provider.shutdown().catch(() => undefined), expired]);
    },
  };
}

function resourceOf({ otelServiceName, otelResource, nodeId }: Config): Attributes {
  return {
    "service.version": version,
    "service.instance.id": nodeId,
    ...otelResource,
    "service.name": otelServiceName ?? otelResource["service.name"] ?? "records",
  };
}

/** https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
function samplerOf({ otelSampler, otelSamplerRatio }: Config): Sampler {
  const [, root = otelSampler] = /^parentbased_(.+)$/.exec(otelSampler) ?? [];
  const own = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(otelSamplerRatio),
  }[root as "always_on" | "always_off" | "traceidratio"]();
  // In a trace of ours the decision was made when the trace began.
  return new ParentBasedSampler({ root: own });
}

/** If the collector is unreachable, spans are lost, and one line a minute is logged. */
function warning(exporter: SpanExporter, log: Logger): SpanExporter {
  let lost = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== ExportResultCode.SUCCESS) lost += spans.length;
        if (lost > 0 && performance.now() - warnedAt >= warnEveryMs) {
          log.warn({ spans: lost, err: result.error }, "traces could not be sent, and are lost");
          warnedAt = performance.now();
          lost = 0;
        }
        done(result);
      });
    },
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  };
}

class SdkTracer implements Tracer {
  readonly #tracer: OtelTracer;

  constructor(tracer: OtelTracer) {
    this.#tracer = tracer;
  }

  begin(name: string, kind: SpanKind, facts: SpanFacts, link?: string): OpenSpan | undefined {
    const foreign = readTraceparent(link);
    const links: Link[] = foreign === undefined ? [] : [{ context: { ...foreign, isRemote: true } }];
    return this.#open(name, { kind: kinds[kind], attributes: facts, links }, ROOT_CONTEXT);
  }

  continue(traceparent: unknown, name: string, kind: SpanKind, facts: SpanFacts): OpenSpan | undefined {
    const known = readTraceparent(traceparent);
    if (known === undefined || (known.traceFlags & TraceFlags.SAMPLED) === 0) return undefined;
    const parent = trace.setSpanContext(ROOT_CONTEXT, { ...known, isRemote: true });
    return this.#open(name, { kind: kinds[kind], attributes: facts }, parent);
  }

  #open(
    name: string,
    options: { kind: Kind; attributes: Attributes; links?: Link[] },
    parent: Context,
  ): OpenSpan | undefined {
    const span = this.#tracer.startSpan(name, options, parent);
    return span.isRecording() ? new SdkSpan(this.#tracer, span) : undefined;
  }
}

class SdkSpan implements OpenSpan {
  readonly traceId: string;
  readonly traceparent: string;
  readonly #tracer: OtelTracer;
  readonly #span: Span;

  constructor(tracer: OtelTracer, span: Span) {
    const { traceId, spanId } = span.spanContext();
    this.traceId = traceId;
    this.traceparent = `00-${traceId}-${spanId}-01`;
    this.#tracer = tracer;
    this.#span = span;
  }

  child(name: string, kind: SpanKind, facts: SpanFacts = {}): OpenSpan {
    const parent = trace.setSpan(ROOT_CONTEXT, this.#span);
    return new SdkSpan(
      this.#tracer,
      this.#tracer.startSpan(name, { kind: kinds[kind], attributes: facts }, parent),
    );
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  addFacts(facts: SpanFacts): void {
    this.#span.setAttributes(facts);
  }

  end(error?: string, isFault = true): void {
    if (error !== undefined) {
      this.#span.setAttribute("error.type", error);
      if (isFault) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}
