// Registers the address and secret of the endpoint that Telegram posts updates to. Telegram stores them, and
// they are lost when somebody else with the token registers another address.
import { Unavailable } from "../shared/errors.ts";
import type { Remedy, DetectorCall } from "../../mixins/healing/port.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { type Bot, botOf, type Called } from "./bot.ts";
import { wantedUpdates } from "./fetch-updates.ts";
import { readConnection } from "./caller-link.ts";

const connectionsMax = 10;
const askMsMax = 4_000;
const target = "endpoint";

const addressOf = ({ config }: Runtime) => `${config.publicUrl}/webhooks/telegram`;

/** With a webhook, registers it. Without one, deletes any webhook, because it would prevent polling. */
export function register(
  runtime: Runtime,
  bot: Bot,
  limits: { signal?: AbortSignal; deadlineMs?: number },
): Promise<Called> {
  if (!runtime.config.telegramWebhook) return bot.call("deleteWebhook", {}, limits);
  const params = {
    url: addressOf(runtime),
    secret_token: bot.webhookSecret,
    allowed_updates: wantedUpdates,
    max_connections: connectionsMax,
  };
  return bot.call("setWebhook", params, limits);
}

/**
 * Compares Telegram's registration with ours, while a process holds the lease.
 * @returns evidence of a difference, or undefined
 */
async function lostAt({ runtime }: DetectorCall): Promise<Record<string, unknown> | undefined> {
  const bot = botOf(runtime);
  if (bot === undefined || !runtime.config.telegramWebhook) return undefined;
  if ((await readConnection(runtime)).state !== "ok") return undefined;
  const { answer } = await bot.call("getWebhookInfo", {}, { deadlineMs: askMsMax });
  if (answer === "aborted" || !answer.ok) throw new Unavailable();
  // As described in https://core.telegram.org/bots/api#webhookinfo.
  const info = (answer.result ?? {}) as Record<string, unknown>;
  const allowed = Array.isArray(info["allowed_updates"]) ? info["allowed_updates"].map(String) : [];
  const isAddress = info["url"] === addressOf(runtime);
  const missing = wantedUpdates.filter((each) => !allowed.includes(each));
  if (isAddress && missing.length === 0) return undefined;
  return {
    // The other address is not in the evidence: it may contain a secret.
    registered: isAddress ? "here" : info["url"] === "" ? "nowhere" : "elsewhere",
    updates_missing: missing,
    waiting: Number(info["pending_update_count"] ?? 0),
  };
}

/** The remedy `messenger_registration_lost`; healing registers again. */
export const registrationLost: Remedy = {
  async find(site, question) {
    if (question.target !== undefined && question.target !== target) return { found: [] };
    const evidence = await lostAt(site);
    return { found: evidence === undefined ? [] : [{ target, tenantId: null, evidence }] };
  },
  wouldDo: ({ evidence }) =>
    `Would register the endpoint again, which is registered ${String(evidence["registered"])}.`,
  async heal({ runtime }) {
    const bot = botOf(runtime);
    if (bot === undefined) return { registered: false };
    const { answer } = await register(runtime, bot, { deadlineMs: askMsMax });
    return { registered: answer !== "aborted" && answer.ok };
  },
};
