// The bot: calls of Telegram's Bot API, through the service's one way out. The token is part of every address and must
// therefore stand in no error, log line or audit entry: only what readAnswer() makes of an answer leaves this file.
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

export interface Called {
  /** "aborted": `signal` was. The call may have arrived. */
  answer: BotAnswer | "aborted";
  /** Null without an answer. */
  status: number | null;
  /** What it was an answer of, as far as it was read. */
  body: string;
  durationMs: number;
}

export class Bot {
  /** What its rows are known by: of the token only a hash. */
  readonly key: string;
  /** What Telegram shows when it posts updates: 43 letters, digits, dashes and underscores. */
  readonly webhookSecret: string;
  /** Codes are kept as hashes under it. */
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
    // A root of one's own may be anywhere: nobody but the operator says where, and nothing else is ever asked here.
    this.#outbound = new Outbound({ allowSubnets: root === defaultApiRoot ? [] : ["0.0.0.0/0", "::/0"] });
  }

  /** Never rejects. @param method of the Bot API; `params` go as JSON */
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
    // A root that echoes addresses would echo the token.
    if (!answer.ok) answer.description = answer.description.replaceAll(this.#token, "…");
    return { answer, status, body, durationMs };
  }

  close(): void {
    this.#outbound.close();
  }
}

/** The process's bot, or undefined when none is configured: the messenger is off. */
export const botOf = perRuntime(({ config }) =>
  config.telegramBotToken === undefined
    ? undefined
    : new Bot(config.telegramApiRoot, config.telegramBotToken),
);

/** The token is the bot's one secret: who has it speaks as the bot anyway. */
function derived(token: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", token, "", purpose, 32));
}
