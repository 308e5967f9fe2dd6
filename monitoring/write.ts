// `npm run monitoring`: writes what follows from panels.ts and alerts.yaml.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, writtenFiles } from "./written.ts";

for (const [path, text] of Object.entries(writtenFiles())) {
  writeFileSync(join(root, path), text);
  process.stdout.write(`${path}\n`);
}
