// A chat that writes to the bot and gets its answers, and an account that is linked with it.
import { type BotApi, codeIn, sentTo } from "./bot-api.ts";
import { type Answer, eventually } from "./service.ts";

interface Api {
  call(method: string, path: string, options?: { token?: string; body?: unknown }): Promise<Answer>;
}

let lastChat = 500_000;
/** A chat nobody else of the test file has; beyond what 32 bits hold, as Telegram's may be. */
export const newChat = (): number => 7_000_000_000 + ++lastChat;

/** Writes and waits for the next answer in the chat. */
export async function say(api: BotApi, chatId: number, text: string): Promise<string> {
  const before = sentTo(api, chatId).length;
  api.write(chatId, text);
  return eventually(async () => sentTo(api, chatId)[before]);
}

export async function askCode(api: BotApi, chatId: number): Promise<string> {
  const answer = await say(api, chatId, "/start");
  const code = codeIn(answer);
  if (code === undefined) throw new Error(`no code in: ${answer}`);
  return code;
}

export const postCode = (service: Api, token: string, code: unknown): Promise<Answer> =>
  service.call("POST", "/api/messenger/link", { token, body: { code } });

export const statusOf = async (service: Api, token: string) =>
  (await service.call("GET", "/api/messenger/status", { token })).body;

export const subscribeTo = (service: Api, token: string, events: unknown): Promise<Answer> =>
  service.call("POST", "/api/messenger/subscribe", { token, body: { events } });

/** Links the token's account with a chat of its own. @returns the chat's id, its answers of linking already sent */
export async function linkChat(
  service: Api,
  api: BotApi,
  token: string,
  chatId = newChat(),
): Promise<number> {
  const code = await askCode(api, chatId);
  const answer = await postCode(service, token, code);
  if (answer.status !== 200) throw new Error(`link: ${answer.status} ${JSON.stringify(answer.body)}`);
  await eventually(async () => sentTo(api, chatId).some((text) => text.includes("now linked")));
  return chatId;
}
