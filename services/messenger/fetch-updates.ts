// Asking for updates by long polling. An update is confirmed, by asking for what comes after it, only when it is committed;
// after a crash the unconfirmed come again, and those that were taken in have no second effect.
import type { Runtime } from "../../host/process/runtime.ts";
import type { Bot } from "./bot.ts";
import type { BotAnswer } from "./bot-answer.rules.ts";
import { takeUpdate } from "./take-update.ts";
import { readUpdate } from "./update.rules.ts";

export const wantedUpdates = ["message", "my_chat_member"];

const pollSeconds = 10;
const deadlineMs = 15_000;
const batchMax = 100;
/** A hundred of the longest messages would be more: then fewer are asked for. */
const answerBytesMax = 4_194_304;
/** An answer's first update is named in its first characters. */
const beginningMax = 200;

/**
 * Runs until the messenger answers with trouble, or `signal` aborts.
 * @param said called when an answer was good. @throws what the database throws
 */
export async function fetchUpdates(
  runtime: Runtime,
  bot: Bot,
  signal: AbortSignal,
  said: () => Promise<void>,
): Promise<Extract<BotAnswer, { ok: false }> | undefined> {
  let offset: number | undefined;
  let limit = batchMax;
  while (!signal.aborted) {
    const params = { ...(offset === undefined ? {} : { offset }), limit, timeout: pollSeconds };
    const { answer, status, body } = await bot.call(
      "getUpdates",
      { ...params, allowed_updates: wantedUpdates },
      { deadlineMs, answerBytesMax, signal },
    );
    if (answer === "aborted") return undefined;
    if (!answer.ok) {
      // An answer of 200 that cannot be read was cut off.
      if (status !== 200) return answer;
      if (limit > 1) limit = Math.ceil(limit / 10);
      else {
        const next = afterFirst(body);
        if (next === undefined) return answer;
        offset = next;
      }
      continue;
    }
    await said();
    offset = (await takeAll(runtime, bot, answer.result)) ?? offset;
    limit = batchMax;
  }
  return undefined;
}

/** @returns what to ask for next, if there was anything */
async function takeAll(runtime: Runtime, bot: Bot, result: unknown): Promise<number | undefined> {
  let next: number | undefined;
  for (const each of Array.isArray(result) ? result : []) {
    const update = readUpdate(each);
    if (update === undefined) continue;
    await takeUpdate(runtime, bot.key, update);
    next = Math.max(next ?? 0, update.id + 1);
  }
  return next;
}

/** The id of a single update that is too long to be read: what it says cannot be a command. */
function afterFirst(body: string): number | undefined {
  const beginning = body.slice(0, beginningMax).replaceAll(/\s/g, "");
  const id = /^\{"ok":true,"result":\[\{"update_id":(\d{1,15})/.exec(beginning)?.[1];
  return id === undefined ? undefined : Number(id) + 1;
}
