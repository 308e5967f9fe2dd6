// Suites that need a real PgBouncer.
import { describeWithProgram } from "./describe-with-program.ts";
import { program } from "./pgbouncer.ts";

export const describeWithPgBouncer = (name: string, body: () => void): void =>
  describeWithProgram("pgbouncer", program !== undefined, name, body);
