// Receives updates by long polling. Requesting the next update confirms the previous ones, which happens only
// after they are committed. After a crash unconfirmed updates arrive again; those already stored have no
// second effect.
import type { Runtime } from "../../host/process/runtime.ts";
import type { Bot } from "./bot.ts";
import type { BotAnswer } from "./bot-answer.rules.ts";
import { applyUpdate } from "./apply-update.ts";
import { readUpdate } from "./update.rules.ts";

/** The kinds of updates that the bot requests. */
export const wantedUpdates = ["message", "my_chat_member"];

const pollSeconds = 10;
const deadlineMs = 15_000;
const batchMax = 100;
/** A hundred of the longest messages would exceed this bound; then fewer are requested. */
const answerBytesMax = 4_194_304;
/** The id of the first update is within this many characters of an answer. */
const beginningMax = 200;

/**
 * Runs until a call fails, or `signal` is aborted.
 * @param onSuccess called after each good answer
 * @throws errors of the database
 */
export async function fetchUpdates(
  runtime: Runtime,
  bot: Bot,
  signal: AbortSignal,
  onSuccess: () => Promise<void>,
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
      // An answer with status 200 that cannot be parsed was cut off at `answerBytesMax`.
      if (status !== 200) return answer;
      if (limit > 1) limit = Math.ceil(limit / 10);
      else {
        const next = afterFirst(body);
        if (next === undefined) return answer;
        offset = next;
      }
      continue;
    }
    await onSuccess();
    offset = (await applyAll(runtime, bot, answer.result)) ?? offset;
    limit = batchMax;
  }
  return undefined;
}

/** @returns the next offset, if there was any update */
async function applyAll(runtime: Runtime, bot: Bot, result: unknown): Promise<number | undefined> {
  let next: number | undefined;
  for (const each of Array.isArray(result) ? result : []) {
    const update = readUpdate(each);
    if (update === undefined) continue;
    await applyUpdate(runtime, bot.key, update);
    next = Math.max(next ?? 0, update.id + 1);
  }
  return next;
}

/** The offset after a single update that is too long to be read. Such an update cannot be a command. */
function afterFirst(body: string): number | undefined {
  const beginning = body.slice(0, beginningMax).replaceAll(/\s/g, "");
  const id = /^\{"ok":true,"result":\[\{"update_id":(\d{1,15})/.exec(beginning)?.[1];
  return id === undefined ? undefined : Number(id) + 1;
}
