// A histogram of durations by two labels, with a bounded number of label sets. Each bucket has the trace of one sample as its
// exemplar, if there is one.
import {
  Histogram,
  type ObserveDataWithExemplar,
  type OpenMetricsContentType,
  type Registry,
} from "prom-client";
import type { TraceOf } from "./current-trace.ts";
import { LabelSets, type Labels } from "./label-sets.ts";

/** Each label set has up to sixteen series. */
const labelSetsMax = 500;

export interface DurationsOf {
  readonly name: `records_${string}_seconds`;
  readonly help: string;
  readonly labels: readonly [string, string];
  readonly buckets: readonly number[];
  /** A further label with few values. */
  readonly by?: { readonly label: string; readonly values: readonly string[] };
}

/** At most 500 label sets. */
export class Durations {
  readonly #histogram: Histogram;
  readonly #sets: LabelSets;
  readonly #setsBy = new Map<string, LabelSets>();

  constructor(registry: Registry<OpenMetricsContentType>, { name, help, labels, buckets, by }: DurationsOf) {
    this.#histogram = new Histogram({
      name,
      help,
      labelNames: by === undefined ? [...labels] : [by.label, ...labels],
      buckets: [...buckets],
      registers: [registry],
      enableExemplars: true,
    });
    const max = Math.floor(labelSetsMax / ((by?.values.length ?? 0) + 1));
    this.#sets = new LabelSets(labels, max, by === undefined ? {} : { [by.label]: "other" });
    for (const value of by?.values ?? [])
      this.#setsBy.set(value, new LabelSets(labels, max, { [by?.label ?? ""]: value }));
  }

  /** @param by the value of the further label; an unknown value counts as "other" */
  observe(first: string, second: string, value: number, trace: TraceOf | undefined, by?: string): void {
    const sets = by === undefined ? this.#sets : (this.#setsBy.get(by) ?? this.#sets);
    this.#histogram.observe(observation(sets.of(first, second), value, trace));
  }
}

function observation(
  labels: Labels,
  value: number,
  trace: TraceOf | undefined,
): ObserveDataWithExemplar<string> {
  if (trace === undefined) return { labels, value };
  return { labels, value, exemplarLabels: { trace_id: trace.traceId, span_id: trace.spanId } };
}
