// Says to the workers that a target has something due. fan-out.ts says the same within its own statement, for many targets.
import type { PlainChange } from "../../services/shared/database/change.ts";
import type { TargetRef } from "./channel.ts";

/**
 * To be called in the change that makes deliveries due: the target's counter `wakes` keeps the worker that holds its lease from
 * giving it up before it has seen them.
 * @param numbered how many new deliveries have taken numbers of the target
 */
export async function wakeTarget(
  change: PlainChange,
  { tenantId, targetId }: TargetRef,
  numbered = 0,
): Promise<void> {
  await change.execute(
    `update delivery_targets set last_seq = last_seq + $1, wakes = wakes + 1,
       next_due_at = least(next_due_at, clock_timestamp()) where tenant_id = $2 and id = $3`,
    [numbered, tenantId, targetId],
  );
}
