// The crypto service's functions on a real database, without a service around them: its log is at hand, and keys can be
// damaged.
import pino from "pino";
import { ensureMasterKey } from "../../services/crypto/master-keys.ts";
import { tenantKeys } from "../../services/crypto/tenant-keys.ts";
import type { Call } from "../../services/shared/bus/bus.ts";
import { Caller } from "../../services/shared/caller.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { testSettings } from "./service.ts";
import { openScene } from "../database/tenancy/scene.ts";

export const { BOOT_SECRET: boot = "" } = testSettings({ url: "", folder: "" });

export type KeyringScene = Awaited<ReturnType<typeof openKeyring>>;

export async function openKeyring() {
  const scene = await openScene();
  const logged: Record<string, unknown>[] = [];
  // Of the runtime these functions read nothing else.
  const parts = {
    database: scene.connected.database,
    secrets: { boot, jwt: "" },
    log: pino({ level: "error" }, { write: (line) => void logged.push(JSON.parse(line)) }),
  };
  const runtime = parts as unknown as Runtime;
  await ensureMasterKey(runtime);
  const rowsOf = async (sql: string, values: unknown[] = []) => (await scene.owner.query(sql, values)).rows;
  let made = 0;
  return {
    runtime,
    logged,
    rowsOf,
    ownerUrl: scene.database.url,
    stop: () => scene.stop(),
    /** Asks for the tenant's keys, as a service does. */
    ask(tenantId: number, wornKeyId?: number) {
      const params = { tenant_id: tenantId, worn_key_id: wornKeyId ?? null };
      const call = { params, caller: Caller.system("patients"), runtime, db: runtime.database };
      // Of a call it reads no more than these.
      return tenantKeys(call as unknown as Call<typeof params>);
    },
    async freshTenant(): Promise<number> {
      const [{ id }] = await rowsOf(
        "insert into tenants (name, subdomain) values ('A Clinic', $1) returning id",
        [`clinic-${++made}`],
      );
      return id;
    },
    /** Alters the wrapped key. @returns the bytes it had */
    async damage(keyId: number): Promise<Buffer> {
      const [{ wrapped }] = await rowsOf("select wrapped from data_keys where id = $1", [keyId]);
      const altered = "set_byte(wrapped, 30, get_byte(wrapped, 30) # 1)";
      await rowsOf(`update data_keys set wrapped = ${altered} where id = $1`, [keyId]);
      return wrapped;
    },
  };
}
