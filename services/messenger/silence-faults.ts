// A messenger that is set up and is not spoken with: its token is not good any more, somebody else asks for its updates, it
// cannot be reached, or no process holds its lease.
import { platform } from "../shared/database/scope.ts";
import type { Detector } from "../../mixins/healing/port.ts";
import { botOf } from "./bot.ts";

const downMinutes = 10;
const target = "messenger";

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
