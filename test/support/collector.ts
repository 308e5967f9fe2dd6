// A real OpenTelemetry collector for tests (its own modules put together in `collector/`, as its builder does), on a free
// loopback port. It tells what it received as OTLP in JSON.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, takesConnections } from "./nats.ts";
import { findProgram } from "./programs.ts";
import { eventually } from "./service.ts";
import { startReceiver } from "./webhooks.ts";

export const name = "records-otelcol";

export const program = findProgram(name);

/** https://github.com/open-telemetry/opentelemetry-proto, trace.proto, as its JSON has it; only what is looked at. */
interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  status?: { code?: number };
  attributes?: { key: string; value: Record<string, unknown> }[];
  links?: { traceId: string; spanId: string }[];
}

export interface SeenSpan extends Omit<WireSpan, "attributes"> {
  attributes: Record<string, unknown>;
  /** Of the resource: which process it is from. */
  resource: Record<string, unknown>;
}

export interface Collector {
  url: string;
  spans(): SeenSpan[];
  /** All that it told, as it was told. */
  text(): string;
  stop(): Promise<void>;
}

const valuesOf = (attributes: WireSpan["attributes"]) =>
  Object.fromEntries((attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));

function spansIn(body: string): SeenSpan[] {
  const { resourceSpans = [] } = JSON.parse(body) as {
    resourceSpans?: {
      resource?: { attributes?: WireSpan["attributes"] };
      scopeSpans: { spans: WireSpan[] }[];
    }[];
  };
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        attributes: valuesOf(span.attributes),
        resource: valuesOf(resource?.attributes),
      })),
    ),
  );
}

export async function startCollector(port?: number): Promise<Collector> {
  if (program === undefined) throw new Error(`no ${name} on PATH`);
  const told = await startReceiver();
  const folder = await mkdtemp(join(tmpdir(), "records-otelcol-"));
  const ownPort = port ?? (await freePort());
  const file = join(folder, "config.yaml");
  await writeFile(
    file,
    JSON.stringify({
      receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${ownPort}` } } } },
      exporters: {
        otlphttp: {
          endpoint: told.url,
          encoding: "json",
          compression: "none",
          sending_queue: { enabled: false },
        },
      },
      service: {
        telemetry: { metrics: { level: "none" }, logs: { level: "error" } },
        pipelines: { traces: { receivers: ["otlp"], exporters: ["otlphttp"] } },
      },
    }),
  );
  const child: ChildProcess = spawn(program, ["--config", file], { stdio: ["ignore", "ignore", "inherit"] });
  const ended = new Promise<"ended">((resolve) => child.once("exit", () => resolve("ended")));
  const isUp = eventually(() => takesConnections(ownPort)).then(() => "up" as const);
  if ((await Promise.race([isUp, ended])) === "ended") throw new Error(`${name} did not start`);
  return {
    url: `http://127.0.0.1:${ownPort}`,
    spans: () => told.received.flatMap(({ body }) => spansIn(body)),
    text: () => told.received.map(({ body }) => body).join("\n"),
    async stop() {
      child.kill("SIGTERM");
      await ended;
      await told.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
