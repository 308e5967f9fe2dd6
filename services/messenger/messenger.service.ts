// The messenger: links chats with accounts and notifies them of events.
// Life cycle: a chat requests a code → a signed-in user posts it → linked, notified of the subscribed events
// → unlinked by the user, in the chat, or because the user, the tenant or the chat was deleted.
// Promises: a code links once; one process at a time communicates with the messenger, and another takes over
// when it dies; an update has one effect; chats receive ids and facts, never a patient's text; the token
// appears in no log, error or answer.
// Does not interpret free text, work in groups, or store messages.
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { detectors } from "../../mixins/healing/detectors.ts";
import { jobs } from "../../mixins/jobs/jobs.ts";
import { worker } from "../../mixins/worker.ts";
import { implement } from "../shared/bus/bus.ts";
import { certificateEnds, webServer } from "../../mixins/healing/certificate-faults.ts";
import { jobFaults } from "../../mixins/healing/job-faults.ts";
import { botOf } from "./bot.ts";
import { MessengerConnection } from "./messenger-connection.ts";
import { followUsers, sweepMessenger } from "./follow-users.ts";
import { linkAccount, unlinkAccount } from "./link.ts";
import { messengerContract } from "./messenger.contract.ts";
import { accountOf, readConnection, readStatus } from "./caller-link.ts";
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
      // The jobs mostly wait for the rate limit of their chat; one chat with many requests must not delay the
      // others.
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
      return bot && new MessengerConnection(runtime, bot);
    }),
  ],
  actions: implement(messengerContract, {
    "messenger.link": linkAccount,
    "messenger.unlink": unlinkAccount,
    "messenger.status": (call) => readStatus(call.runtime, accountOf(call)),
    "messenger.subscribe": subscribe,
    "messenger.take_update": receiveUpdate,
    "messenger.check": async (call) => ({ state: (await readConnection(call.runtime)).state }),
  }),
};

export default messenger;
