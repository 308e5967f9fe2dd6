// Suites that need a real Prometheus and promtool.
import { describeWithProgram } from "./describe-with-program.ts";
import { hasPrometheus } from "./prometheus.ts";

export const describeWithPrometheus = (name: string, body: () => void): void =>
  describeWithProgram("prometheus and promtool", hasPrometheus, name, body, "Debian's package prometheus");
