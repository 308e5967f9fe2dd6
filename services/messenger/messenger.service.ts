// The messenger: which chats belong to which accounts, and telling them of events.
// Life cycle: a chat asks for a code → a signed-in user posts it → linked, told of what the user subscribes to → unlinked
// by the user, in the chat, or because the user, the tenant or the chat is gone.
// Promises: a code links once; one process at a time speaks with the messenger, and another follows when it dies; an update
// has one effect; chats are told ids and facts, never a patient's text; the token is in no log, error or answer.
// Does not: understand talk, work in groups, or keep anything anybody wrote.
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { detectors } from "../../mixins/healing/detectors.ts";
import { jobs } from "../../mixins/jobs/jobs.ts";
import { worker } from "../../mixins/worker.ts";
import { implement } from "../shared/bus/bus.ts";
import { certificateEnds, webServer } from "../../mixins/healing/certificate-faults.ts";
import { jobFaults } from "../../mixins/healing/job-faults.ts";
import { botOf } from "./bot.ts";
import { Conversation } from "./conversation.ts";
import { followUsers, sweepMessenger } from "./follow-users.ts";
import { linkAccount, unlinkAccount } from "./link.ts";
import { messengerContract } from "./messenger.contract.ts";
import { accountOf, readConversation, readStatus } from "./own-link.ts";
import { receiveUpdate } from "./receive-update.ts";
import { sendReply } from "./replies.ts";
import { subscribe } from "./subscribe.ts";
import { linkLeftBehind } from "./link-faults.ts";
import { registrationLost } from "./registration.ts";
import { messengerSilent } from "./silence-faults.ts";
import { overdueRows } from "../../mixins/healing/overdue-rows.ts";

const messenger: ServiceSchema = {
  name: "messenger",
  mixins: [
    database(),
    jobs({
      tasks: {
        "messenger.reply": sendReply,
        "messenger.follow": followUsers,
        "messenger.sweep": sweepMessenger,
      },
      schedules: { "messenger.sweep": "23 * * * *" },
      // They mostly wait for their chat's turn: one that asks a lot must not hold up the others.
      concurrentMax: 16,
    }),
    detectors("messenger", {
      ...jobFaults("messenger"),
      link_left_behind: linkLeftBehind,
      messenger_registration_lost: registrationLost,
      messenger_silent: messengerSilent,
      certificate_ends: certificateEnds(({ telegramBotToken, telegramApiRoot }) => ({
        servers: telegramBotToken === undefined ? [] : webServer(telegramApiRoot),
      })),
      expired_rows_pile_up: overdueRows("messenger", "messenger.sweep", [
        { what: "messenger_codes", rows: "from messenger_codes where expires_at < now() - interval '1 day'" },
        {
          what: "messenger_updates",
          rows: "from messenger_updates where taken_at < now() - interval '5 days'",
        },
      ]),
    }),
    worker(({ runtime }) => {
      const bot = botOf(runtime);
      return bot && new Conversation(runtime, bot);
    }),
  ],
  actions: implement(messengerContract, {
    "messenger.link": linkAccount,
    "messenger.unlink": unlinkAccount,
    "messenger.status": (call) => readStatus(call.runtime, accountOf(call)),
    "messenger.subscribe": subscribe,
    "messenger.take_update": receiveUpdate,
    "messenger.check": async (call) => ({ state: (await readConversation(call.runtime)).state }),
  }),
};

export default messenger;
