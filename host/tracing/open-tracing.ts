// Switches tracing on where OpenTelemetry's variables say so. Off, nothing of its SDK is loaded.
import type { Logger } from "pino";
import { levelsOf } from "../../services/shared/log-levels.ts";
import type { Config } from "../settings/settings.ts";
import type { Tracer } from "../../services/shared/tracing.ts";

export interface StartedTracing {
  readonly tracer: Tracer;
  /** Sends what waits, for so long as it is worth it; afterwards nothing is recorded. Rejects never. */
  close(): Promise<void>;
}

const isTraced = ({ otelDisabled, otelEndpoint, otelTracesEndpoint, otelTracesExporter }: Config) =>
  !otelDisabled &&
  otelTracesExporter !== "none" &&
  (otelEndpoint !== undefined || otelTracesEndpoint !== undefined);

/** Of a process. */
export class Tracing {
  #started: StartedTracing | undefined;

  /** undefined unless traces are sent anywhere. */
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
