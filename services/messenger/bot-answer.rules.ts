// Interprets the answers of the Bot API.

export type Trouble =
  /** The bot's token is invalid or was revoked. */
  | "refused"
  /** Another client polls for updates, or a webhook is set. */
  | "conflict"
  | "rate_limited"
  /** The message cannot be delivered: the bot was blocked, or the chat was deleted. */
  | "chat_gone"
  | "rejected"
  /** No answer, or an answer that is not from a Bot API. */
  | "unreachable";

/** A good answer, or the kind of failure with Telegram's description (at most 200 characters). */
export type BotAnswer =
  | { ok: true; result: unknown }
  | { ok: false; trouble: Trouble; description: string; retryAfterSeconds?: number | undefined };

const chatGonePattern =
  /chat not found|user is deactivated|bot was blocked|bot can't initiate|chat_id is empty|peer_id_invalid/i;
const retryAfterSecondsMax = 86_400;

/** @param retryAfter the header, in seconds */
export function readAnswer(status: number, body: string, retryAfter: string | undefined): BotAnswer {
  const { ok, result, description, parameters } = fieldsOf(parsed(body));
  if (status === 200 && ok === true) return { ok: true, result };
  const words = typeof description === "string" ? description.slice(0, 200) : "";
  const trouble = troubleOf(status, words);
  if (trouble !== "rate_limited") return { ok: false, trouble, description: words };
  const asked = Number(fieldsOf(parameters)["retry_after"] ?? retryAfter ?? 1);
  const seconds = Number.isFinite(asked) ? Math.min(Math.max(1, Math.ceil(asked)), retryAfterSecondsMax) : 1;
  return { ok: false, trouble, description: words, retryAfterSeconds: seconds };
}

function troubleOf(status: number, description: string): Trouble {
  if (status === 401 || status === 404) return "refused";
  if (status === 409) return "conflict";
  if (status === 429) return "rate_limited";
  if (status === 403 || (status === 400 && chatGonePattern.test(description))) return "chat_gone";
  return status >= 400 && status < 500 ? "rejected" : "unreachable";
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
