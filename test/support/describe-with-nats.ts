// Suites that need a nats-server: without one they are skipped, in so many words, except in CI, where that is a failure.
import { describe, it } from "@jest/globals";
import { program } from "./nats.ts";

export function describeWithNats(name: string, body: () => void): void {
  if (program !== undefined) return describe(name, body);
  const inCi = process.env["CI"] === "true";
  describe(`${name} (skipped: no nats-server on PATH)`, () => {
    if (inCi) {
      it("nats-server is on PATH", () => {
        throw new Error("no nats-server on PATH");
      });
    } else it.skip("needs nats-server", () => {});
  });
}
