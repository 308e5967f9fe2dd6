// `telemetry`: what it costs to be seen. `me` from four processes of the same program on the same database, in turn: nothing
// told at all; all metrics and logs; these with traces, of which a tenth is recorded; and with all of them recorded. Traces go
// to a receiver in this process, so its own work is in nobody's figure.
import { createServer } from "node:http";
import { addClinic } from "../clinic.ts";
import { servicePaths } from "../home.ts";
import { cpuOf, inTurn, ratio, type Side } from "../measure.ts";
import { judge, say, table, title } from "../report.ts";
import type { Stage } from "../stage.ts";
import { freePort } from "../../support/nats.ts";
import { getting, tokensOf, warmUp } from "../tenant-clients.ts";

const path = servicePaths.me;

export async function telemetry(stage: Stage): Promise<void> {
  title("telemetry: me with nothing told, with all metrics and logs, and with traces");
  const scene = await stage.scene("telemetry");
  const { subdomain } = await addClinic(scene, "seen", stage.pick(200, 200, 20));
  await scene.service.stop();
  const sink = await startSink();
  const metricsPort = async () => ({ METRICS_PORT: String(await freePort()) });
  const traces = (ratioOfTraces: string) => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
    OTEL_TRACES_SAMPLER_ARG: ratioOfTraces,
  });
  const wanted = [
    ["off", { LOG_LEVEL: "silent", SLOW_QUERY_MS: "0" }],
    ["metrics and logs", { LOG_LEVEL: "info", ...(await metricsPort()) }],
    ["traces, a tenth", { LOG_LEVEL: "info", ...(await metricsPort()), ...traces("0.1") }],
    ["traces, all", { LOG_LEVEL: "info", ...(await metricsPort()), ...traces("1") }],
  ] as const;
  const running = await Promise.all(
    wanted.map(async ([name, settings]) => {
      const log = `telemetry-${name.replaceAll(/\W+/g, "-")}.log`;
      const service = await stage.startService({ ...scene.settings, ...settings }, log);
      return { name, service, url: `http://127.0.0.1:${service.captured}` };
    }),
  );
  const sides: Side[] = [];
  for (const { name, service, url } of running) {
    const tokens = await tokensOf(stage, url, servicePaths.login, subdomain);
    await warmUp(stage, url, [path], tokens);
    sides.push({ name, processId: service.processId, load: getting(stage, url, path, tokens) });
  }
  const plan = { postgresId: stage.postgresId, rounds: stage.pick(9, 5, 1), seconds: stage.roundSeconds };
  const [off = [], told = [], tenth = [], all = []] = await inTurn(sides, plan);
  table(sides.map(({ name }, at) => [name, [off, told, tenth, all][at] ?? []]));
  say(
    `received ${sink.requests()} exports of traces; all of them recorded: ${ratio(all, told, cpuOf).toFixed(2)} ×`,
  );
  judge({
    claim: "all metrics and logs on, CPU per request against off",
    measured: ratio(told, off, cpuOf),
    sense: "at most",
    bound: 1.15,
    unit: "×",
  });
  judge({
    claim: "traces at 10 % sampling, CPU per request against metrics and logs alone",
    measured: ratio(tenth, told, cpuOf),
    sense: "at most",
    bound: 1.1,
    unit: "×",
  });
  for (const { service } of running) await service.stop();
  if (stage.size !== "smallest" && sink.requests() === 0) throw new Error("no trace has arrived");
  sink.close();
}

async function startSink(): Promise<{ url: string; requests(): number; close(): void }> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests++;
    request.resume().on("end", () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    requests: () => requests,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
