// A real Prometheus for tests, on a free loopback port, that scrapes what it is told to; and promtool.
import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { stringify } from "yaml";
import { freePort } from "./nats.ts";
import { findProgram } from "./programs.ts";
import { eventually } from "./service.ts";

const programs = { prometheus: findProgram("prometheus"), promtool: findProgram("promtool") };
export const hasPrometheus = programs.prometheus !== undefined && programs.promtool !== undefined;

/** @returns what it printed; rejects with it when promtool found something wrong */
export async function promtool(...args: readonly string[]): Promise<string> {
  if (programs.promtool === undefined) throw new Error("no promtool on PATH");
  const { stdout, stderr } = await promisify(execFile)(programs.promtool, args);
  return stdout + stderr;
}

/** One line of a result: its labels, and its values in the order of time. */
export interface Line {
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly { readonly seconds: number; readonly value: number }[];
}

export interface Prometheus {
  url: string;
  /** @param path with its query string, below /api/v1 */
  ask(path: string): Promise<any>;
  query(expr: string): Promise<Line[]>;
  queryRange(expr: string, fromSeconds: number, toSeconds: number, stepSeconds: number): Promise<Line[]>;
  stop(): Promise<void>;
}

interface Options {
  /** By the name of their instance: the port of /metrics. */
  targets: Readonly<Record<string, number>>;
  /** An absolute path. */
  rules?: string;
  everySeconds?: number;
}

/** Resolves when every target was scraped once. */
export async function startPrometheus({ targets, rules, everySeconds = 1 }: Options): Promise<Prometheus> {
  if (programs.prometheus === undefined) throw new Error("no prometheus on PATH");
  const folder = await mkdtemp(join(tmpdir(), "records-prometheus-"));
  const config = {
    global: {
      scrape_interval: `${everySeconds}s`,
      scrape_timeout: `${everySeconds}s`,
      evaluation_interval: "1s",
    },
    rule_files: rules === undefined ? [] : [rules],
    scrape_configs: [
      {
        job_name: "records",
        static_configs: Object.entries(targets).map(([instance, port]) => ({
          targets: [`127.0.0.1:${port}`],
          labels: { instance },
        })),
      },
    ],
  };
  await writeFile(join(folder, "prometheus.yml"), stringify(config));
  const port = await freePort();
  const child = spawn(
    programs.prometheus,
    [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--enable-feature=exemplar-storage",
      "--log.level=error",
    ],
    { stdio: "ignore" },
  );
  const ended = new Promise((resolve) => child.once("close", resolve));
  const url = `http://127.0.0.1:${port}`;
  const ask = async (path: string): Promise<any> => {
    const answer: any = await (await fetch(`${url}/api/v1/${path}`)).json();
    if (answer.status !== "success") throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  };
  const lines = (data: any): Line[] =>
    data.result.map(({ metric, value, values }: any) => ({
      labels: metric,
      points: (values ?? [value]).map(([seconds, text]: [number, string]) => ({
        seconds,
        value: Number(text),
      })),
    }));
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await eventually(async () => {
      const found = await ask("targets").catch(() => undefined);
      return (
        found?.activeTargets.length > 0 && found.activeTargets.every(({ health }: any) => health === "up")
      );
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url,
    ask,
    query: async (expr) => lines(await ask(`query?query=${encodeURIComponent(expr)}`)),
    queryRange: async (expr, from, to, step) =>
      lines(await ask(`query_range?query=${encodeURIComponent(expr)}&start=${from}&end=${to}&step=${step}`)),
    stop,
  };
}
