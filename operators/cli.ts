// `npm run cli -- <command>`: runs one operators' command, for people and for programs. It connects to the process on DATA_DIR
// or, if NATS_URL is set, to the cluster. Its exit codes are defined in operators/failures.ts.
import { enableCompileCache } from "node:module";

enableCompileCache();
const { runProgram } = await import("./program.ts");
await runProgram(process.env, process.argv.slice(2));
