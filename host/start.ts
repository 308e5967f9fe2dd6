// The entry point of `npm start` and of each pod. It reads the settings, loads the services in SERVICES (default: all), starts
// them, creates the first data, and prints its addresses. A failed start prints one sentence to standard error and exits with a
// non-zero code.
import { enableCompileCache } from "node:module";

enableCompileCache();
const { main } = await import("./main.ts");
await main();
