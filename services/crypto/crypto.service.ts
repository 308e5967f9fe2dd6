// The keyring: master keys wrapped by BOOT_SECRET, tenants' data keys wrapped by a master key.
// Life cycle: the first master key is made at the first start, a tenant's keys when it first seals something; a key that
// has sealed enough is followed by another and from then on only opens. A rotation gives all a new master key and every
// tenant a new key, seals everything anew in the background, and destroys the old keys when nothing names them.
// Promises: keys are at rest only wrapped; of many first uses of a tenant one makes its keys; with a wrong BOOT_SECRET
// the process does not start and nothing is written.
// Does not: seal or open a client's texts (services/shared/sealing does, where the texts are).
import type { Service, ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { serviceMetrics } from "../../mixins/service-metrics.ts";
import { detectors } from "../../mixins/healing/detectors.ts";
import { worker } from "../../mixins/worker.ts";
import { implement, runtimeOf } from "../shared/bus/bus.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { closeArchiveKey, dropArchiveKey, makeArchiveKey, openArchiveKey } from "./archive-keys.ts";
import { archiveKeysContract } from "./archive-keys.contract.ts";
import { cryptoContract } from "./crypto.contract.ts";
import { destroyKey } from "./destroy-key.ts";
import { ensureMasterKey } from "./master-keys.ts";
import { rotate } from "./rotate.ts";
import { watchRotation } from "./rotation-figures.ts";
import { rotationStatus } from "./rotation-status.ts";
import { RotationWorker } from "./rotation-worker.ts";
import { tenantKeys } from "./tenant-keys.ts";
import { sessionIdleInTransaction } from "../../mixins/healing/session-faults.ts";
import { rotationStalled, sealedUnreadable } from "./sealing-faults.ts";

const workerOf = perRuntime((runtime) => new RotationWorker(runtime));

function ensureOwnMasterKey(this: Service): Promise<void> {
  return ensureMasterKey(runtimeOf(this));
}

const crypto: ServiceSchema = {
  name: "crypto",
  mixins: [
    database(),
    detectors("crypto", {
      sealed_unreadable: sealedUnreadable,
      rotation_stalled: rotationStalled,
      session_idle_in_transaction: sessionIdleInTransaction,
    }),
    worker(({ runtime }) => workerOf(runtime)),
    serviceMetrics(watchRotation),
    // Done before all of the above: Moleculer starts the mixins of a service beginning with the last.
    { started: ensureOwnMasterKey },
  ],
  actions: implement(
    { ...cryptoContract, ...archiveKeysContract },
    {
      "crypto.keys": tenantKeys,
      "crypto.rotate": rotate,
      "crypto.status": rotationStatus,
      "crypto.destroy_key": destroyKey,
      "crypto.make_archive_key": makeArchiveKey,
      "crypto.close_archive_key": closeArchiveKey,
      "crypto.open_archive_key": openArchiveKey,
      "crypto.drop_archive_key": dropArchiveKey,
    },
  ),
};

export default crypto;
