// What this process has for who takes archives out, or wants to see what a restore would change. It begins and ends with
// the service; what moves archives' bytes ends with it.
import type { WithStopSignal } from "../../mixins/stop-signal.ts";
import { storeOf } from "../../mixins/store/store-of.ts";
import type { Worker } from "../../mixins/worker.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { ArchiveServer } from "./archive-server.ts";
import { ArchiveKeyring } from "./ask-archive-keys.ts";
import { Plans } from "./plan-restore.ts";
import { movingOf, partsOf } from "./run-job.ts";

const shelves = new WeakMap<Runtime, ArchiveAccess>();

export class ArchiveAccess implements Worker {
  readonly server: ArchiveServer;
  readonly keyring: ArchiveKeyring;
  readonly plans: Plans;
  readonly #runtime: Runtime;

  constructor({ broker, runtime, stopping }: WithStopSignal) {
    this.#runtime = runtime;
    this.server = new ArchiveServer(runtime, storeOf(runtime));
    this.keyring = new ArchiveKeyring(broker);
    this.plans = new Plans(() => partsOf({ broker, runtime, stopping }), stopping);
    shelves.set(runtime, this);
  }

  start(): Promise<void> {
    return this.server.listen();
  }

  async stop(): Promise<void> {
    await this.server.close();
    await movingOf(this.#runtime).close();
  }
}

export function archiveAccessOf(runtime: Runtime): ArchiveAccess {
  const shelf = shelves.get(runtime);
  if (shelf === undefined) throw new Error("the backups have not started yet");
  return shelf;
}
