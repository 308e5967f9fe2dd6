// `npm run panels`: starts the service as two processes and a Prometheus, works with it for a minute and a half, and draws the
// dashboard's main panels by the dashboard's own queries into docs/images. Needs nats-server, prometheus and promtool.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Query } from "../../../monitoring/panel.ts";
import { rows } from "../../../monitoring/panels.ts";
import { startMonitored } from "../../support/monitored.ts";
import type { Prometheus } from "../../support/prometheus.ts";
import { chart, type Series } from "./chart.ts";

const workMs = 90_000;
/** Of a rate: several scrapes, which come each second. */
const rateInterval = "10s";
const stepSeconds = 2;
const folder = join(import.meta.dirname, "../../../docs/images");

const nameOf = (legend: string, labels: Readonly<Record<string, string>>) =>
  legend.replaceAll(/\{\{(\w+)\}\}/g, (_all, label: string) => labels[label] ?? "");

async function read(
  prometheus: Prometheus,
  { expr, legend }: Query,
  from: number,
  to: number,
): Promise<Series[]> {
  const lines = await prometheus.queryRange(
    expr.replaceAll("$__rate_interval", rateInterval),
    from,
    to,
    stepSeconds,
  );
  return lines.map(({ labels, points }) => ({ name: nameOf(legend, labels), points }));
}

const monitored = await startMonitored();
try {
  await mkdir(folder, { recursive: true });
  const from = Math.floor(Date.now() / 1000);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  say(`working for ${workMs / 1000} s`);
  const rare = monitored.happenings();
  // Three at a time, then six, then three: the lines have something to show.
  for (let round = 0; Date.now() < from * 1000 + workMs; round++) {
    const part = (Date.now() - from * 1000) / workMs;
    const many = part > 0.35 && part < 0.65 ? 6 : 2;
    await Promise.all(Array.from({ length: many }, (_, at) => monitored.everyday(round * 10 + at)));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await rare;
  const to = Math.floor(Date.now() / 1000);
  for (const panel of rows.flatMap(({ panels }) => panels)) {
    if (panel.drawnAs === undefined) continue;
    const series: Series[] = [];
    for (const query of panel.queries) series.push(...(await read(monitored.prometheus, query, from, to)));
    await writeFile(join(folder, `${panel.drawnAs}.svg`), chart(panel, series, [from, to]));
    say(`docs/images/${panel.drawnAs}.svg: ${series.length} lines`);
  }
} finally {
  await monitored.stop();
}
