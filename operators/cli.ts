// `npm run cli -- <command>`: one operators' command, for people and for programs. It joins the process on DATA_DIR, or where
// NATS_URL is set the cluster. Its exit codes stand in operators/failures.ts.
import { enableCompileCache } from "node:module";

enableCompileCache();
const { runProgram } = await import("./program.ts");
await runProgram(process.env, process.argv.slice(2));
