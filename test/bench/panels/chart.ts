// A panel as a plain SVG: lines over time, an axis of each, a legend. No script, no font of its own, no outside reference.
import { scaleLinear } from "d3-scale";
import { curveMonotoneX, line } from "d3-shape";
import type { Unit } from "../../../monitoring/panel.ts";
import type { Line } from "../../support/prometheus.ts";

export interface Series extends Pick<Line, "points"> {
  readonly name: string;
}

const [width, plotHeight] = [760, 200];
const margin = { top: 64, right: 24, left: 72, axis: 28 };
const legendRow = 20;
/** Okabe and Ito's: told apart by people who see colours differently. */
const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#8c6d1f"];
const seriesMax = colours.length;

const escape = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const trim = (value: number, digits: number) => String(Number(value.toFixed(digits)));

/** A tick's text. */
function say(value: number, unit: Unit): string {
  if (value === 0) return "0";
  if (unit === "percentunit") return `${trim(value * 100, 1)} %`;
  if (unit === "s")
    return value === 0 ? "0" : value < 1 ? `${trim(value * 1_000, 2)} ms` : `${trim(value, 2)} s`;
  if (unit === "bytes" || unit === "Bps") {
    const [by, name] = value >= 1e6 ? [1e6, "MB"] : value >= 1e3 ? [1e3, "kB"] : [1, "B"];
    return `${trim(value / by, 1)} ${name}${unit === "Bps" ? "/s" : ""}`;
  }
  return `${trim(value, 2)}${unit === "short" ? "" : "/s"}`;
}

/** @param fromSeconds the left edge; the axis counts from there */
export function chart(
  { title, says, unit }: { title: string; says: string; unit: Unit },
  all: readonly Series[],
  [fromSeconds, toSeconds]: readonly [number, number],
): string {
  const series = all.slice(0, seriesMax);
  const plotWidth = width - margin.left - margin.right;
  const values = series.flatMap(({ points }) => points.map(({ value }) => value).filter(Number.isFinite));
  const x = scaleLinear([0, toSeconds - fromSeconds], [margin.left, margin.left + plotWidth]);
  const y = scaleLinear([0, Math.max(...values, 0) * 1.05 || 1], [margin.top + plotHeight, margin.top]).nice(
    4,
  );
  const draw = line<Series["points"][number]>()
    .defined(({ value }) => Number.isFinite(value))
    .x(({ seconds }) => Number(x(seconds - fromSeconds).toFixed(1)))
    .y(({ value }) => Number(y(value).toFixed(1)))
    .curve(curveMonotoneX);
  const legend = placeLegend(series);
  const base = margin.top + plotHeight;
  const height = base + margin.axis + legend.rows * legendRow + 16;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${escape(title)}</title>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6" fill="#ffffff" stroke="#d0d7de"/>`,
    `<text x="20" y="27" font-size="15" font-weight="600" fill="#1f2328">${escape(title)}</text>`,
    `<text x="20" y="45" fill="#59636e">${escape(says)}</text>`,
    ...y.ticks(4).map((tick) => {
      const at = y(tick).toFixed(1);
      return `<line x1="${margin.left}" x2="${margin.left + plotWidth}" y1="${at}" y2="${at}" stroke="${tick === 0 ? "#8c959f" : "#e6e9ec"}"/><text x="${margin.left - 8}" y="${(y(tick) + 4).toFixed(1)}" text-anchor="end" fill="#59636e">${say(tick, unit)}</text>`;
    }),
    ...x
      .ticks(6)
      .map(
        (tick) =>
          `<text x="${x(tick).toFixed(1)}" y="${base + 18}" text-anchor="middle" fill="#59636e">${tick} s</text>`,
      ),
    ...series.map(
      ({ points }, at) =>
        `<path d="${draw([...points]) ?? ""}" fill="none" stroke="${colours[at]}" stroke-width="1.8" stroke-linejoin="round" stroke-linecap="round"/>`,
    ),
    ...legend.places.map(
      ({ name, left, row }, at) =>
        `<rect x="${left}" y="${base + margin.axis + row * legendRow + 7}" width="14" height="3" rx="1.5" fill="${colours[at]}"/><text x="${left + 20}" y="${base + margin.axis + row * legendRow + 13}" fill="#1f2328">${escape(name)}</text>`,
    ),
    "</svg>",
  ];
  return `${parts.join("\n")}\n`;
}

/** Names side by side, by a width that is enough for most fonts. */
function placeLegend(series: readonly Series[]) {
  let [left, row] = [margin.left, 0];
  const places = series.map(({ name }) => {
    const needs = 20 + name.length * 7 + 18;
    if (left > margin.left && left + needs > width - margin.right) [left, row] = [margin.left, row + 1];
    const place = { name, left, row };
    left += needs;
    return place;
  });
  return { places, rows: row + 1 };
}
