// Suites that need a real OpenTelemetry collector.
import { describeWithProgram } from "./describe-with-program.ts";
import { name as collector, program } from "./collector.ts";

export const describeWithCollector = (name: string, body: () => void): void =>
  describeWithProgram(collector, program !== undefined, name, body, "build test/support/collector with Go");
