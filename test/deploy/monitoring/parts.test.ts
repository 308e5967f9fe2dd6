// The parts that figures are made of: label sets that end somewhere, readings that are asked for once, the two formats.
import { describe, expect, it } from "@jest/globals";
import { runInContext, type OpenSpan } from "../../../services/shared/tracing.ts";
import { toPlainText, wantsOpenMetrics } from "../../../host/metrics/exposition.ts";
import { LabelSets } from "../../../host/metrics/label-sets.ts";
import { noTraffic } from "../../../host/metrics/bus-metrics.ts";
import { ProcessMetrics } from "../../../host/metrics/process-metrics.ts";
import { CachedSamples } from "../../../services/shared/cached-samples.ts";
import { freePort } from "../../support/nats.ts";

const measured = {
  config: { databasePoolMax: 10 },
  hasher: { depth: 0 },
  busTraffic: noTraffic(),
  droppedMessages: { foreign: 0, stale: 0, repeated: 0, other_start: 0 },
  pool: undefined,
};

async function exposed(
  metrics: ProcessMetrics,
  accept: string,
): Promise<{ type: string | null; text: string }> {
  const port = await freePort();
  await metrics.listen(port, "127.0.0.1");
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { accept } });
    return { type: answer.headers.get("content-type"), text: await answer.text() };
  } finally {
    metrics.close();
  }
}

describe("label sets", () => {
  it("are made once each", () => {
    const sets = new LabelSets(["a", "b"], 10);
    expect(sets.of("x", "y")).toBe(sets.of("x", "y"));
    expect(sets.of("x", "z")).toEqual({ a: "x", b: "z" });
    expect(sets.size).toBe(2);
  });
  it("end at their bound, and what is beyond counts as other", () => {
    const sets = new LabelSets(["a", "b"], 3, { c: "fixed" });
    const all = Array.from({ length: 100 }, (_, at) => sets.of(`x${at}`, "y"));
    expect(new Set(all).size).toBe(4);
    expect(all.at(-1)).toEqual({ a: "other", b: "other", c: "fixed" });
    expect(sets.of("x0", "y")).toEqual({ a: "x0", b: "y", c: "fixed" });
  });
});

describe("a reading", () => {
  const figure = { name: "records_x", value: 1 };
  it("is asked for once by many, and kept", async () => {
    let asked = 0;
    const sampled = new CachedSamples(
      async () => {
        asked++;
        return [figure];
      },
      () => {},
    );
    const found = await Promise.all([sampled.samples(), sampled.samples(), sampled.samples()]);
    expect(found).toEqual([[figure], [figure], [figure]]);
    await sampled.samples();
    expect(asked).toBe(1);
  });
  it("that fails shows nothing, is counted, and is tried again", async () => {
    let [asked, failed] = [0, 0];
    const sampled = new CachedSamples(
      async () => {
        if (asked++ === 0) throw new Error("the database is away");
        return [figure];
      },
      () => failed++,
    );
    expect(await sampled.samples()).toBeUndefined();
    expect(failed).toBe(1);
    expect(await sampled.samples()).toEqual([figure]);
  });
  it("that is late holds nobody up, and no second one is begun beside it", async () => {
    let [asked, failed] = [0, 0];
    let answer: (figures: (typeof figure)[]) => void = () => {};
    const sampled = new CachedSamples(
      () => {
        asked++;
        return new Promise<(typeof figure)[]>((resolve) => {
          answer = resolve;
        });
      },
      () => failed++,
    );
    expect(await sampled.samples()).toBeUndefined();
    expect(await sampled.samples()).toBeUndefined();
    expect({ asked, failed }).toEqual({ asked: 1, failed: 1 });
    answer([figure]);
    await new Promise(setImmediate);
    expect(await sampled.samples()).toEqual([figure]);
    expect({ asked, failed }).toEqual({ asked: 1, failed: 1 });
  });
});

describe("formats", () => {
  it.each([
    [undefined, false],
    ["*/*", false],
    ["text/plain", false],
    ["application/openmetrics-text", true],
    [
      "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;q=0.5",
      true,
    ],
    ["application/openmetrics-text; version=2.0.0, text/plain", false],
    ["application/openmetrics-text;q=0, text/plain", false],
  ])("Accept %s: OpenMetrics %s", (accept, wanted) => expect(wantsOpenMetrics(accept)).toBe(wanted));
  it("the text format has neither exemplars nor an end, and the whole names of counters", () => {
    const open = [
      "# HELP a_b Counts # {all}",
      "# TYPE a_b counter",
      'a_b_total{x="1"} 2',
      "# HELP h How long",
      "# TYPE h histogram",
      'h_bucket{le="1"} 2 # {trace_id="abc"} 0.5 1700000000.1',
      "# EOF",
      "",
    ].join("\n");
    const text = ["# HELP a_b_total Counts # {all}", "# TYPE a_b_total counter", 'a_b_total{x="1"} 2'];
    expect(toPlainText(open).split("\n")).toEqual([
      ...text,
      "# HELP h How long",
      "# TYPE h histogram",
      'h_bucket{le="1"} 2',
      "",
    ]);
  });
});

describe("exemplars", () => {
  it("name the trace under way, in OpenMetrics alone", async () => {
    const metrics = new ProcessMetrics(measured);
    metrics.action("users.me", "ok", 0.003);
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    // Of a span only its names are looked at here.
    const span = { traceId, traceparent: `00-${traceId}-b7ad6b7169203331-01` } as OpenSpan;
    runInContext({ requestId: undefined, span }, () => metrics.action("users.me", "ok", 0.2));
    const { type, text } = await exposed(metrics, "application/openmetrics-text");
    expect(type).toContain("application/openmetrics-text; version=1.0.0");
    expect(text).toMatch(
      /records_action_seconds_bucket\{le="0.25",action="users.me",outcome="ok"\} 2 # \{trace_id="0af7651916cd43dd8448eb211c80319c",span_id="b7ad6b7169203331"\} 0.2 /,
    );
    expect(text.match(/trace_id/g)).toHaveLength(1);
    expect(text.endsWith("# EOF\n")).toBe(true);
    expect((await exposed(metrics, "text/plain")).text).not.toContain("trace_id");
  });
  it("are absent where there is no trace", async () => {
    const metrics = new ProcessMetrics(measured);
    metrics.request("GET", "/x", 200, 0.1);
    expect((await exposed(metrics, "application/openmetrics-text")).text).not.toContain(" # {");
  });
});
