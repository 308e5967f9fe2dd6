// The one entry point: `npm start`, each pod. Reads the settings, loads the service folders that SERVICES names (all by
// default), starts, seeds, and says where it is to be found. Whatever keeps it from starting is one sentence on standard
// error and a non-zero exit.
import { enableCompileCache } from "node:module";

enableCompileCache();
const { main } = await import("./main.ts");
await main();
