// Suites that need a nats-server.
import { program } from "./nats.ts";
import { describeWithProgram } from "./describe-with-program.ts";

export const describeWithNats = (name: string, body: () => void): void =>
  describeWithProgram("nats-server", program !== undefined, name, body);
