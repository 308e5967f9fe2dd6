// Calls Telegram's Bot API through the outbound client. The token is part of every URL, so it must not appear
// in any error, log line or audit entry: only the result of readAnswer() leaves this file.
import { createHash, hkdfSync } from "node:crypto";
import { Outbound } from "../../mixins/outbound/outbound.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { defaultApiRoot } from "../shared/telegram.ts";
import { type BotAnswer, readAnswer } from "./bot-answer.rules.ts";
import { Pacer } from "./pacer.ts";

export interface CallLimits {
  deadlineMs?: number;
  answerBytesMax?: number;
  signal?: AbortSignal;
}

/** The result of a call. */
export interface Called {
  /** "aborted": `signal` was aborted; the call may have arrived. */
  answer: BotAnswer | "aborted";
  /** Null without an answer. */
  status: number | null;
  /** The answer's body, as far as it was read. */
  body: string;
  durationMs: number;
}

/** The configured bot. */
export class Bot {
  /** Identifies the bot's rows: a hash of the token. */
  readonly key: string;
  /** The secret that Telegram sends with posted updates: 43 letters, digits, hyphens and underscores. */
  readonly webhookSecret: string;
  /** The key of the hashes of codes. */
  readonly codeKey: Buffer;
  readonly pacer = new Pacer();
  readonly #root: string;
  readonly #token: string;
  readonly #outbound: Outbound;

  constructor(root: string, token: string) {
    this.#root = root;
    this.#token = token;
    this.key = createHash("sha256").update(`records bot ${token}`).digest("hex").slice(0, 32);
    this.webhookSecret = derived(token, "records telegram webhook v2").toString("base64url");
    this.codeKey = derived(token, "records messenger code v2");
    // The API root may be any address because only the operator sets it, and this client calls nothing else.
    this.#outbound = new Outbound({ allowSubnets: root === defaultApiRoot ? [] : ["0.0.0.0/0", "::/0"] });
  }

  /** Calls a method of the Bot API with JSON parameters. Never rejects. */
  async call(method: string, params: Record<string, unknown>, limits: CallLimits = {}): Promise<Called> {
    const result = await this.#outbound.send({
      url: `${this.#root}/bot${this.#token}/${method}`,
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": "records-service-messenger/1" },
      body: JSON.stringify(params),
      ...limits,
    });
    const { durationMs } = result;
    if (!result.ok) {
      const { failure } = result;
      const answer =
        failure === "aborted"
          ? failure
          : ({ ok: false, trouble: "unreachable", description: failure } as const);
      return { answer, status: null, body: "", durationMs };
    }
    const { status, body, retryAfter } = result;
    const answer = readAnswer(status, body, retryAfter);
    // An API root that echoes the request would echo the token.
    if (!answer.ok) answer.description = answer.description.replaceAll(this.#token, "…");
    return { answer, status, body, durationMs };
  }

  close(): void {
    this.#outbound.close();
  }
}

/** The process's bot, or undefined when none is configured. */
export const botOf = perRuntime(({ config }) =>
  config.telegramBotToken === undefined
    ? undefined
    : new Bot(config.telegramApiRoot, config.telegramBotToken),
);

/**
 * The token is the bot's only secret, and its owner can act as the bot anyway, so other keys are derived from
 * it.
 */
function derived(token: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", token, "", purpose, 32));
}
