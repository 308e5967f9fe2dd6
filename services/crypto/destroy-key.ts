// Destroys a data key on request of an operator, from the REPL.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { Conflict, NotFound } from "../shared/errors.ts";
import { destroyDataKey, isNeeded, needsOf } from "./retire-keys.ts";
import { keyReleaseSeconds } from "./rotation-times.ts";
import type { RowOf } from "../shared/database/row.ts";

type Row = RowOf<"data_keys", "tenant_id" | "purpose" | "state", { let_go: boolean }>;

/** @throws NotFound, Conflict `rotation_running`, `key_in_use` or `key_needed` */
export function destroyKey(call: Call<{ key_id: number }>): Promise<void> {
  const { key_id: id } = call.params;
  const releaseSeconds = keyReleaseSeconds(call.runtime.config);
  return call.db.change(platform, call.caller, async (change) => {
    const [running] = await change.execute("select from rotations where state = 'running'");
    if (running !== undefined)
      throw new Conflict("rotation_running", "A rotation is under way: it ends the keys itself");
    const [key] = await change.execute<Row>(
      `select tenant_id, purpose, state, demoted_at < now() - make_interval(secs => $1) as let_go
       from data_keys where id = $2 for update`,
      [releaseSeconds, id],
    );
    if (key === undefined || key.state === "destroyed") throw new NotFound("Key");
    if (key.state === "primary") throw new Conflict("key_in_use", `The key seals and finds (${key.purpose})`);
    if (!key.let_go)
      throw new Conflict("key_in_use", "Processes may still hold the key; try again in a minute");
    const needs = await needsOf(change, key.tenant_id, id);
    if (isNeeded(needs)) {
      const tables = Object.entries(needs.rows).map(([table, count]) => `${count} of ${table}`);
      const sealed = needs.backups > 0 ? [...tables, `${needs.backups} backups`] : tables;
      throw new Conflict("key_needed", `Rows are sealed with the key: ${sealed.join(", ")}`);
    }
    await destroyDataKey(change, key.tenant_id, id);
  });
}
