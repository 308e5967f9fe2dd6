// Suites that need a nats-server.
import { program } from "./nats.ts";
import { describeWithProgram } from "./programs.ts";

export const describeWithNats = (name: string, body: () => void): void =>
  describeWithProgram("nats-server", program !== undefined, name, body);
