// What the backups ask the crypto service for, on behalf of the service itself: jobs outlive the request that began them.
import type { ServiceBroker } from "moleculer";
import { callAs } from "../shared/bus.ts";

export class ArchiveKeyring {
  readonly #broker: ServiceBroker;

  constructor(broker: ServiceBroker) {
    this.#broker = broker;
  }

  make(backupId: string, tenantId: number | null) {
    return callAs(this.#broker, "backups", "crypto.make_archive_key", {
      backup_id: backupId,
      tenant_id: tenantId,
    });
  }

  close(backupId: string): Promise<void> {
    return callAs(this.#broker, "backups", "crypto.close_archive_key", { backup_id: backupId });
  }

  /** @throws NotFound where the installation never made it, or has forgotten it */
  async open(backupId: string): Promise<{ key: Buffer; installation: string }> {
    const { key, installation } = await callAs(this.#broker, "backups", "crypto.open_archive_key", {
      backup_id: backupId,
    });
    return { key: Buffer.from(key, "base64"), installation };
  }

  drop(backupId: string): Promise<void> {
    return callAs(this.#broker, "backups", "crypto.drop_archive_key", { backup_id: backupId });
  }
}
