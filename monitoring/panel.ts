// What a panel of the dashboard is.

/** Grafana's names of units. */
export type Unit = "reqps" | "ops" | "s" | "bytes" | "Bps" | "percentunit" | "short";

export interface Query {
  readonly expr: string;
  /** As Grafana writes it: {{label}} is filled in. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  readonly says: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** A number instead of a line. */
  readonly isNumber?: boolean;
  /** Drawn in docs/images under this name. */
  readonly drawnAs?: string;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** What Grafana fills in: long enough for some scrapes. */
export const rate = "[$__rate_interval]";
export const quantile = (of: number, series: string, by = "") =>
  `histogram_quantile(${of}, sum by (le${by === "" ? "" : `, ${by}`}) (rate(${series}_bucket${rate})))`;
