// Loads the services that a process runs, by the folders in SERVICES.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ServiceBroker } from "moleculer";
import { StartError } from "../services/shared/start-error.ts";

const folder = join(import.meta.dirname, "../services");
const inEveryProcess = "node";

/** @param wanted names of service folders, or undefined for all */
export async function loadServices(
  broker: ServiceBroker,
  wanted: readonly string[] | undefined,
): Promise<void> {
  const files = (await readdir(folder, { recursive: true }))
    .filter((file) => file.endsWith(".service.ts"))
    .sort();
  const folders = new Set(files.map((file) => file.split("/")[0] ?? ""));
  const unknownNames = (wanted ?? []).filter((name) => !folders.has(name));
  if (unknownNames.length > 0) {
    throw new StartError(
      `SERVICES names ${unknownNames.join(", ")}; there are ${[...folders].sort().join(", ")}.`,
    );
  }
  for (const file of files) {
    const service = file.split("/")[0] ?? "";
    if (service !== inEveryProcess && wanted?.includes(service) === false) continue;
    // A process with only this service would do nothing.
    if (service === inEveryProcess && wanted?.length === 0) continue;
    const { default: schema } = await import(join(folder, file));
    broker.createService(schema);
  }
}
