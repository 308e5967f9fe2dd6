// Sends one message to a chat when the rate limit allows, and returns the outcome.
import type { Attempt } from "../../mixins/deliveries/channel.ts";
import type { Bot } from "./bot.ts";
import type { Trouble } from "./bot-answer.rules.ts";

/** Pause after a refused token, in seconds. */
const refusedPauseSeconds = 30;

const errors: Record<Trouble, string> = {
  refused: "refused",
  conflict: "conflict",
  rate_limited: "rate_limited",
  chat_gone: "chat_gone",
  rejected: "rejected",
  unreachable: "connection",
};

/** Why a message is not sent after all. */
export type Refusal = Pick<Attempt, "error"> & { outcome: "gone" | "withheld" | "failed" };

/**
 * Sends plain text without formatting or link previews. Never rejects.
 * @param recheck checks the user's rights after waiting for the turn, which may take seconds; must not
 * reject
 */
export async function sendText(
  bot: Bot,
  chatId: number,
  text: string,
  signal: AbortSignal,
  recheck?: () => Promise<Refusal | undefined>,
): Promise<Attempt> {
  const turn = await bot.pacer.take(chatId, signal).catch(() => undefined);
  if (turn === undefined) return attempt("unsent", 0, null, null);
  if (!turn.mayGo) return attempt("failed", 0, null, "rate_limited", turn.seconds);
  const refusal = await recheck?.();
  if (refusal !== undefined) return attempt(refusal.outcome, 0, null, refusal.error);
  const params = { chat_id: chatId, text, link_preview_options: { is_disabled: true } };
  const { answer, status, durationMs } = await bot.call("sendMessage", params, { signal });
  if (answer === "aborted") return attempt("unsent", durationMs, null, null);
  if (answer.ok) return attempt("delivered", durationMs, status, null);
  const { trouble, retryAfterSeconds } = answer;
  if (trouble === "rate_limited") bot.pacer.pause(retryAfterSeconds ?? 1);
  if (trouble === "refused") bot.pacer.pause(refusedPauseSeconds);
  const outcome = trouble === "chat_gone" ? "gone" : "failed";
  return attempt(outcome, durationMs, status, errors[trouble], retryAfterSeconds);
}

function attempt(
  outcome: Attempt["outcome"],
  durationMs: number,
  statusCode: number | null,
  error: string | null,
  retryAfterSeconds?: number,
): Attempt {
  return { outcome, durationMs, statusCode, error, response: null, retryAfterSeconds };
}
