// A Bot API as Telegram describes it, over real HTTP on loopback: updates with offsets and long polling, messages, a
// webhook, and trouble on demand.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export const botToken = "4711:canary-of-the-token-AAbbCCdd";

interface Sent {
  chat_id: number;
  text: string;
  at: number;
}

export interface BotApi {
  url: string;
  /** Settings of a service that speaks with it. */
  settings: Record<string, string>;
  /** Messages that were answered 200, in order. */
  sent: Sent[];
  /** All that was asked, bodies and all. */
  asked: { method: string; body: string; headers: IncomingMessage["headers"] }[];
  /** Somebody writes in a private chat. */
  write(chatId: number, text: string, from?: Record<string, unknown>, chatType?: string): void;
  /** Any update; its id is given out here unless it has one. */
  push(update: Record<string, unknown>): number;
  /** Answers a call its own way; undefined leaves it to the usual one, "hang" never answers. */
  trouble: (method: string, params: Record<string, unknown>) => Answer | "hang" | undefined;
  webhook: Record<string, unknown> | undefined;
  /** Waiting for updates at this moment. */
  polling(): number;
  /** Updates that nobody has confirmed. */
  pending(): number;
  stop(): Promise<void>;
}

interface Answer {
  status: number;
  body: unknown;
}

export const failure = (status: number, description: string, parameters?: object): Answer => ({
  status,
  body: { ok: false, error_code: status, description, ...(parameters === undefined ? {} : { parameters }) },
});

export async function startBotApi(): Promise<BotApi> {
  let nextId = 1_000;
  let updates: { update_id: number }[] = [];
  const waiting = new Set<() => void>();
  const reply = (response: ServerResponse, { status, body }: Answer) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  const ok = (result: unknown): Answer => ({ status: 200, body: { ok: true, result } });

  const getUpdates = (response: ServerResponse, params: Record<string, unknown>) => {
    if (api.webhook !== undefined)
      return reply(response, failure(409, "Conflict: can't use getUpdates method while webhook is active"));
    const offset = Number(params["offset"] ?? 0);
    updates = updates.filter(({ update_id: id }) => id >= offset);
    const answer = () => {
      clearTimeout(late);
      waiting.delete(answer);
      reply(response, ok(updates.slice(0, Number(params["limit"] ?? 100))));
    };
    const late = setTimeout(answer, Number(params["timeout"] ?? 0) * 1000);
    if (updates.length > 0) return answer();
    waiting.add(answer);
    response.on("close", () => {
      clearTimeout(late);
      waiting.delete(answer);
    });
  };

  const respond = (method: string, params: Record<string, unknown>, response: ServerResponse) => {
    const answer = api.trouble(method, params);
    if (answer === "hang") return;
    if (answer !== undefined) return reply(response, answer);
    if (method === "getMe") return reply(response, ok({ id: 4711, is_bot: true, username: "records_bot" }));
    if (method === "getUpdates") return getUpdates(response, params);
    if (method === "getWebhookInfo") {
      const { url = "", allowed_updates } = api.webhook ?? {};
      return reply(
        response,
        ok({ url, has_custom_certificate: false, pending_update_count: updates.length, allowed_updates }),
      );
    }
    if (method === "setWebhook") api.webhook = params;
    if (method === "deleteWebhook") api.webhook = undefined;
    if (method === "sendMessage") {
      const { chat_id, text } = params as { chat_id: number; text: string };
      api.sent.push({ chat_id, text, at: Date.now() });
      return reply(response, ok({ message_id: api.sent.length }));
    }
    return reply(response, ok(true));
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const [, token, method = ""] = /^\/bot([^/]+)\/(\w+)$/.exec(request.url ?? "") ?? [];
      const body = Buffer.concat(chunks).toString();
      api.asked.push({ method, body, headers: request.headers });
      if (token !== botToken) return reply(response, failure(401, "Unauthorized"));
      return respond(method, JSON.parse(body), response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  const api: BotApi = {
    url,
    settings: { TELEGRAM_BOT_TOKEN: botToken, TELEGRAM_API_ROOT: url },
    sent: [],
    asked: [],
    trouble: () => undefined,
    webhook: undefined,
    polling: () => waiting.size,
    pending: () => updates.length,
    push(update) {
      const id = typeof update["update_id"] === "number" ? update["update_id"] : nextId++;
      // First, as Telegram writes it.
      updates.push({ update_id: id, ...update });
      const [one] = waiting;
      one?.();
      return id;
    },
    write(
      chatId,
      text,
      from = { id: chatId, first_name: "Person", last_name: String(chatId) },
      type = "private",
    ) {
      api.push({ message: { message_id: nextId, date: 1, chat: { id: chatId, type }, from, text } });
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return api;
}

const codePattern = /\b[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}\b/;

/** What was sent to a chat so far. */
export const sentTo = (api: BotApi, chatId: number): string[] =>
  api.sent.filter(({ chat_id: to }) => to === chatId).map(({ text }) => text);

export const codeIn = (text: string | undefined): string | undefined => codePattern.exec(text ?? "")?.[0];
