// Suites that need a real Prometheus and promtool: without them they are skipped, in so many words, except in CI, where that
// is a failure.
import { describe, it } from "@jest/globals";
import { hasPrometheus } from "./prometheus.ts";

export function describeWithPrometheus(name: string, body: () => void): void {
  if (hasPrometheus) return describe(name, body);
  const inCi = process.env["CI"] === "true";
  describe(`${name} (skipped: no prometheus and promtool on PATH; Debian has them in the package prometheus)`, () => {
    if (inCi) {
      it("prometheus and promtool are on PATH", () => {
        throw new Error("no prometheus or promtool on PATH");
      });
    } else it.skip("needs prometheus and promtool", () => {});
  });
}
