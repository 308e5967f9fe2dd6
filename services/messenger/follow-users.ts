// Jobs that follow a link ended by the database or a changed role, and that delete expired rows.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import { inBatches } from "../shared/in-batches.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { finishEnded } from "./end-link.ts";
import { recomputeSubscriptions } from "./subscribe.ts";

const roundsMax = 1_000;

/** The job `messenger.follow`. */
export async function followUsers(this: { runtime: Runtime }, payload: unknown): Promise<void> {
  // The payload is written by the triggers of migrations/0008/follow-users.ts.
  const { tenant_id: tenantId, user_id: userId } = payload as { tenant_id: number; user_id?: number };
  await finishAll(this.runtime);
  if (userId !== undefined)
    await this.runtime.database.change({ tenantId }, Caller.system("messenger"), (change) =>
      recomputeSubscriptions(change, tenantId, userId),
    );
}

function finishAll({ database }: Runtime): Promise<void> {
  return inBatches({ rowsMax: 1, batchesMax: roundsMax }, async () =>
    Number(await database.change(platform, Caller.system("messenger"), finishEnded)),
  );
}

/** Telegram repeats an update for at most a day. */
const updatesKeptDays = 3;

/** The hourly job `messenger.sweep`. */
export async function sweepMessenger(this: { runtime: Runtime }): Promise<void> {
  const { database } = this.runtime;
  // Covers a `messenger.follow` job that was lost with its process.
  await finishAll(this.runtime);
  await database.write(platform, Caller.system("messenger"), {
    name: "messenger.sweep_codes",
    text: "delete from messenger_codes where expires_at < now() - interval '1 hour'",
    values: [],
  });
  await database.write(platform, Caller.system("messenger"), {
    name: "messenger.sweep_updates",
    text: `delete from messenger_updates where taken_at < now() - interval '${updatesKeptDays} days'`,
    values: [],
  });
}
