// Receives updates that Telegram posts to the webhook. They are authenticated by the secret that was
// registered.
import { timingSafeEqual } from "node:crypto";
import type { Call } from "../shared/bus/bus.ts";
import { BadRequest, Forbidden, NotFound } from "../shared/errors.ts";
import { bytesOf } from "../shared/raw-body.ts";
import { botOf } from "./bot.ts";
import { applyUpdate } from "./apply-update.ts";
import { readUpdate } from "./update.rules.ts";

interface Params {
  content: string;
  secret_token?: string | null | undefined;
}

/**
 * @throws NotFound when the messenger is off or polls, Forbidden when the secret is wrong, BadRequest
 * `malformed_update`
 */
export async function receiveUpdate(call: Call<Params>): Promise<{ received: boolean }> {
  const { runtime, params } = call;
  const bot = botOf(runtime);
  if (bot === undefined || !runtime.config.telegramWebhook) throw new NotFound("Messenger");
  if (!isSame(params.secret_token ?? "", bot.webhookSecret)) throw new Forbidden();
  const update = readUpdate(parsed(bytesOf(params)));
  if (update === undefined) throw new BadRequest("malformed_update", "This is no update");
  await applyUpdate(runtime, bot.key, update);
  return { received: true };
}

function isSame(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}
