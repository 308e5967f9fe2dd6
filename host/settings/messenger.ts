/** Settings of the messenger. */
import { defaultApiRoot } from "../../services/shared/telegram.ts";
import { secret, setting } from "./entry.ts";
import * as read from "./readers.ts";

export const messengerSettings = {
  telegramBotToken: secret(
    "TELEGRAM_BOT_TOKEN",
    read.plainText(/^[\w:-]{3,256}$/, "the token of a bot: digits, a colon, letters and digits"),
    "Token of the bot that links chats and tells them of events",
    "messenger off",
  ),
  telegramApiRoot: setting(
    "TELEGRAM_API_ROOT",
    read.webAddress,
    defaultApiRoot,
    "Address of the Bot API; one of your own may be private, and of http",
  ),
  telegramWebhook: setting(
    "TELEGRAM_WEBHOOK",
    read.flag,
    "false",
    "Whether the messenger posts to `PUBLIC_URL`/webhooks/telegram instead of being asked; `PUBLIC_URL` must then be https",
  ),
};
