// The parts of this process that serve downloads and plans of restores. They start and stop with the service;
// the thread that moves archives is stopped here too.
import type { WithStopSignal } from "../../mixins/stop-signal.ts";
import { storeOf } from "../../mixins/store/store-of.ts";
import type { Worker } from "../../mixins/worker.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { ArchiveServer } from "./archive-server.ts";
import { ArchiveKeyring } from "./archive-keyring.ts";
import { Plans } from "./plan-restore.ts";
import { movingOf, partsOf } from "./run-job.ts";

const instances = new WeakMap<Runtime, ArchiveAccess>();

/** The download server, the access to keys, and the plans being made. */
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
    instances.set(runtime, this);
  }

  start(): Promise<void> {
    return this.server.listen();
  }

  async stop(): Promise<void> {
    await this.server.close();
    await movingOf(this.#runtime).close();
  }
}

/** The instance of the runtime. @throws Error before the service has started */
export function archiveAccessOf(runtime: Runtime): ArchiveAccess {
  const access = instances.get(runtime);
  if (access === undefined) throw new Error("the backups have not started yet");
  return access;
}
