// Suites that need a real S3 server: without one they are skipped, in so many words, except in CI, where that is a failure.
import { describe, it } from "@jest/globals";
import { program, versitygw } from "./s3.ts";

export function describeWithS3(name: string, body: () => void): void {
  if (program !== undefined) return describe(name, body);
  const inCi = process.env["CI"] === "true";
  describe(`${name} (skipped: no versitygw on PATH; go install ${versitygw})`, () => {
    if (inCi) {
      it("versitygw is on PATH", () => {
        throw new Error("no versitygw on PATH");
      });
    } else it.skip("needs versitygw", () => {});
  });
}
