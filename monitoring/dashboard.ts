// The dashboard as Grafana imports it.
import type { Panel } from "./panel.ts";
import { rows } from "./panels.ts";

const columns = 24;
const heights = { header: 1, number: 4, lines: 8 };
/** What Grafana writes into new dashboards since its version 10. */
const schemaVersion = 39;
const datasource = { type: "prometheus", uid: "${datasource}" };

/** @returns Grafana's own model of a dashboard: plain JSON */
export function dashboard(): object {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: inRow } of rows) {
    panels.push({
      id: panels.length + 1,
      type: "row",
      title,
      collapsed: false,
      gridPos: place(0, y, columns, 1),
    });
    y += heights.header;
    const areNumbers = inRow.every(({ isNumber }) => isNumber === true);
    const [perLine, height] = areNumbers ? [inRow.length, heights.number] : [2, heights.lines];
    const width = columns / perLine;
    inRow.forEach((panel, at) => {
      const line = Math.floor(at / perLine);
      const isAlone = at === inRow.length - 1 && at % perLine === 0;
      const position = place((at % perLine) * width, y + line * height, isAlone ? columns : width, height);
      panels.push(toGrafana(panel, panels.length + 1, position));
    });
    y += Math.ceil(inRow.length / perLine) * height;
  }
  return {
    uid: "records-service",
    title: "Records service",
    tags: ["records"],
    schemaVersion,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    timezone: "browser",
    templating: {
      list: [{ name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus" }],
    },
    annotations: { list: [] },
    links: [],
    panels,
  };
}

const place = (x: number, y: number, w: number, h: number) => ({ x, y, w, h });

function toGrafana({ title, says, unit, queries, isNumber = false }: Panel, id: number, gridPos: object) {
  return {
    id,
    type: isNumber ? "stat" : "timeseries",
    title,
    description: says,
    gridPos,
    datasource,
    targets: queries.map(({ expr, legend }, at) => ({
      refId: String.fromCodePoint("A".charCodeAt(0) + at),
      datasource,
      expr,
      legendFormat: legend,
      ...(isNumber ? { instant: true, range: false } : { range: true, exemplar: expr.includes("_bucket") }),
    })),
    fieldConfig: {
      defaults: { unit, min: 0, ...(isNumber ? {} : { custom: { fillOpacity: 8 } }) },
      overrides: [],
    },
    options: isNumber
      ? { reduceOptions: { calcs: ["lastNotNull"] }, colorMode: "none" }
      : { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi", sort: "desc" } },
  };
}
