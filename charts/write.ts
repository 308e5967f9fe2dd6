// `npm run manifests`: writes what follows from the chart. Needs Helm.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./rendered.ts";
import { schema, writtenManifests, writtenSchema } from "./written.ts";

// First, as Helm checks the values against it.
write({ [schema]: writtenSchema() });
write(writtenManifests());

function write(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    process.stdout.write(`${path}\n`);
  }
}
