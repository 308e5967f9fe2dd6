// The keyring: master keys wrapped by BOOT_SECRET, tenants' data keys wrapped by a master key.
// Life cycle: the first master key is made at the first start, a tenant's keys when it first seals something; a key that
// has sealed enough is followed by another and from then on only opens.
// Promises: keys are at rest only wrapped; of many first uses of a tenant one makes its keys; with a wrong BOOT_SECRET
// the process does not start and nothing is written.
// Does not: seal or open anything itself (services/shared/sealing does, where the texts are), or serve any client.
import type { Service, ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { implement, runtimeOf } from "../shared/bus.ts";
import { cryptoContract } from "./crypto.contract.ts";
import { ensureMasterKey } from "./master-keys.ts";
import { tenantKeys } from "./tenant-keys.ts";

const crypto: ServiceSchema = {
  name: "crypto",
  mixins: [database()],
  actions: implement(cryptoContract, { "crypto.keys": tenantKeys }),
  async started(this: Service): Promise<void> {
    await ensureMasterKey(runtimeOf(this));
  },
};

export default crypto;
