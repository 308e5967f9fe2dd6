// Starts tracing if OpenTelemetry's variables are set. Otherwise its SDK is not loaded.
import type { Logger } from "pino";
import { levelsOf } from "../../services/shared/log-levels.ts";
import type { Config } from "../settings/settings.ts";
import type { Tracer } from "../../services/shared/tracing.ts";

export interface StartedTracing {
  readonly tracer: Tracer;
  /** Sends the waiting spans, for a bounded time; afterwards nothing is recorded. Never rejects. */
  close(): Promise<void>;
}

/** Whether an exporter is configured and tracing is not switched off. */
const isTraced = ({ otelDisabled, otelEndpoint, otelTracesEndpoint, otelTracesExporter }: Config) =>
  !otelDisabled &&
  otelTracesExporter !== "none" &&
  (otelEndpoint !== undefined || otelTracesEndpoint !== undefined);

/** The tracing of a process. */
export class Tracing {
  #started: StartedTracing | undefined;

  /** undefined unless traces are exported. */
  get tracer(): Tracer | undefined {
    return this.#started?.tracer;
  }

  async open(config: Config, log: Logger): Promise<void> {
    if (!isTraced(config)) return;
    const { startTracing } = await import("./opentelemetry.ts");
    this.#started = startTracing(config, levelsOf(log).child("tracing"));
  }

  async close(): Promise<void> {
    await this.#started?.close();
  }
}
