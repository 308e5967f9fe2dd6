// The two formats that Prometheus reads. The metrics are written as OpenMetrics, because only that has exemplars. The older text
// format has the same lines without exemplars, and with the full names of counters in their descriptions.

export const openMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
export const plainText = "text/plain; version=0.0.4; charset=utf-8";

/** @param accept the request's header; without a known format the answer is text, as for a person with curl */
export function wantsOpenMetrics(accept: string | undefined): boolean {
  for (const range of (accept ?? "").slice(0, 1_000).split(",")) {
    const [type = "", ...parameters] = range.split(";").map((each) => each.trim().toLowerCase());
    if (type !== "application/openmetrics-text") continue;
    const version = parameters.find((each) => each.startsWith("version="));
    return (
      (version === undefined || version === "version=1.0.0" || version === "version=0.0.1") &&
      !parameters.includes("q=0")
    );
  }
  return false;
}

/** @param text OpenMetrics as prom-client writes it: HELP, TYPE, then the samples of each metric */
export function toPlainText(text: string): string {
  const counters = new Set([...text.matchAll(/^# TYPE (\S+) counter$/gm)].map(([, name]) => name));
  const lines = text.split("\n").flatMap((line) => {
    if (line === "# EOF") return [];
    const [, about, name, rest] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (about !== undefined && counters.has(name)) return [`# ${about} ${name}_total ${rest}`];
    const exemplar = line.startsWith("#") ? -1 : line.indexOf(" # {");
    return [exemplar === -1 ? line : line.slice(0, exemplar)];
  });
  return lines.join("\n");
}
