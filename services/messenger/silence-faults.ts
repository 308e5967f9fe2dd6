// Detects a configured messenger without connection: the token is invalid, another client polls for updates,
// it is unreachable, or no process holds the lease.
import { platform } from "../shared/database/scope.ts";
import type { Detector } from "../../mixins/healing/port.ts";
import { botOf } from "./bot.ts";

const downMinutes = 10;
const target = "messenger";

/** The detector `messenger_silent`. */
export const messengerSilent: Detector = {
  async find({ runtime, db }, question) {
    const bot = botOf(runtime);
    if (bot === undefined || (question.target !== undefined && question.target !== target))
      return { found: [] };
    const row = await db.readOne<{ seconds: number; is_led: boolean }>(platform, {
      name: "messenger.silent",
      text: `select extract(epoch from now() - down_since)::integer as seconds, coalesce(leased_until > now(), false) as is_led
        from messenger_bots where bot = $1 and down_since < now() - interval '${downMinutes} minutes'`,
      values: [bot.key],
    });
    if (row === undefined) return { found: [] };
    const evidence = { for_seconds: row.seconds, a_process_tries: row.is_led };
    return { found: [{ target, tenantId: null, evidence }] };
  },
};
