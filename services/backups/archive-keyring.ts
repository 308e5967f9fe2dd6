// Requests to the crypto service, in the name of this service, because a job outlives the request that
// started it.
import type { ServiceBroker } from "moleculer";
import { callAs } from "../shared/bus/bus.ts";
import { translate } from "../shared/failures.ts";
import { JobFailed } from "./job-failed.ts";

/**
 * @throws JobFailed `keys_unavailable` when the service does not answer, `keys_unreadable` when the key is
 * missing or does not open
 */
export class ArchiveKeyring {
  readonly #broker: ServiceBroker;

  constructor(broker: ServiceBroker) {
    this.#broker = broker;
  }

  make(backupId: string, tenantId: number | null) {
    const wanted = { backup_id: backupId, tenant_id: tenantId };
    return withJobFailures(callAs(this.#broker, "backups", "crypto.make_archive_key", wanted));
  }

  close(backupId: string): Promise<void> {
    return withJobFailures(
      callAs(this.#broker, "backups", "crypto.close_archive_key", { backup_id: backupId }),
    );
  }

  async open(backupId: string): Promise<{ key: Buffer; installation: string }> {
    const { key, installation } = await withJobFailures(
      callAs(this.#broker, "backups", "crypto.open_archive_key", { backup_id: backupId }),
    );
    return { key: Buffer.from(key, "base64"), installation };
  }

  drop(backupId: string): Promise<void> {
    return withJobFailures(
      callAs(this.#broker, "backups", "crypto.drop_archive_key", { backup_id: backupId }),
    );
  }
}

async function withJobFailures<T>(asking: Promise<T>): Promise<T> {
  try {
    return await asking;
  } catch (error) {
    const { publicError: told } = translate(error);
    const type = "type" in told ? told.type : "";
    if (type === "not_found" || type === "keys_unreadable")
      throw new JobFailed("keys_unreadable", { cause: error });
    if (type === "unavailable" || type === "busy") throw new JobFailed("keys_unavailable", { cause: error });
    throw error;
  }
}
