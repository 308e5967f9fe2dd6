/** Settings of logs and traces. Those of traces have OpenTelemetry's names. */
import { optional, secret, setting } from "./entry.ts";
import * as read from "./readers.ts";
import { Refused } from "./readers.ts";

const samplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

const pairsMax = 50;

/** `name=value,name=value` with percent-encoded values, as in W3C's baggage. Errors repeat nothing: it may be a secret. */
const pairs: read.Reader<Readonly<Record<string, string>>> = (text) => {
  const entries = text.split(",").filter((each) => each.trim() !== "");
  if (entries.length > pairsMax) throw new Refused(`must have at most ${pairsMax} pairs`);
  return Object.fromEntries(
    entries.map((each) => {
      const at = each.indexOf("=");
      const name = each.slice(0, Math.max(0, at)).trim();
      if (!/^[\w.-]{1,100}$/.test(name)) throw new Refused("must be a list of name=value");
      try {
        return [name, decodeURIComponent(each.slice(at + 1).trim())];
      } catch {
        throw new Refused("must have values that are percent-encoded");
      }
    }),
  );
};

const ratio: read.Reader<number> = (text) => {
  const value = Number(text);
  if (!/^\d{1,10}(?:\.\d{1,10})?$/.test(text) || value > 1) throw new Refused("must be a number from 0 to 1");
  return value;
};

export const telemetrySettings = {
  slowQueryMs: setting(
    "SLOW_QUERY_MS",
    read.wholeNumber(0, 600_000),
    "500",
    "Statements of the database that take longer are named in the log; 0 names none",
  ),
  otelEndpoint: optional(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    read.webAddress,
    "Collector that traces are sent to (OTLP over HTTP, protobuf); `/v1/traces` is added",
    "no traces",
  ),
  otelTracesEndpoint: optional(
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    read.webAddress,
    "The same with its path, taken as it is",
    "follows from the above",
  ),
  otelHeaders: secret(
    "OTEL_EXPORTER_OTLP_HEADERS",
    pairs,
    "Headers for the collector, `name=value` with commas between, values percent-encoded",
    "none",
  ),
  otelTracesHeaders: secret("OTEL_EXPORTER_OTLP_TRACES_HEADERS", pairs, "Instead of the above", "the above"),
  otelProtocol: setting(
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    read.oneOf("http/protobuf"),
    "http/protobuf",
    "The one that is spoken: http/protobuf",
  ),
  otelTracesExporter: setting(
    "OTEL_TRACES_EXPORTER",
    read.oneOf("otlp", "none"),
    "otlp",
    "otlp; none switches traces off",
  ),
  otelDisabled: setting("OTEL_SDK_DISABLED", read.flag, "false", "true switches traces off"),
  otelServiceName: optional(
    "OTEL_SERVICE_NAME",
    read.plainText(/^[\w.-]{1,100}$/, "1 to 100 letters, digits, dots, dashes or underscores"),
    "Name under which traces are shown",
    "records",
  ),
  otelResource: setting(
    "OTEL_RESOURCE_ATTRIBUTES",
    pairs,
    "",
    "What else every trace says of where it is from, `name=value` with commas between",
    "none",
  ),
  otelSampler: setting(
    "OTEL_TRACES_SAMPLER",
    read.oneOf(...samplers),
    "parentbased_always_on",
    "Which traces are recorded: always_on, always_off, traceidratio, or one of these behind `parentbased_`",
  ),
  otelSamplerRatio: setting(
    "OTEL_TRACES_SAMPLER_ARG",
    ratio,
    "1",
    "Which part of them, from 0 to 1, with a sampler by traceidratio",
  ),
};
