// What the messenger posts, where it is told to: believed when it shows the secret it was given.
import { timingSafeEqual } from "node:crypto";
import type { Call } from "../shared/bus/bus.ts";
import { BadRequest, Forbidden, NotFound } from "../shared/errors.ts";
import { bytesOf } from "../shared/raw-body.ts";
import { botOf } from "./bot.ts";
import { takeUpdate } from "./take-update.ts";
import { readUpdate } from "./update.rules.ts";

interface Params {
  content: string;
  secret_token?: string | null | undefined;
}

/** @throws NotFound where the messenger is off or asked by polling, Forbidden, BadRequest */
export async function receiveUpdate(call: Call<Params>): Promise<{ received: boolean }> {
  const { runtime, params } = call;
  const bot = botOf(runtime);
  if (bot === undefined || !runtime.config.telegramWebhook) throw new NotFound("Messenger");
  if (!isSame(params.secret_token ?? "", bot.webhookSecret)) throw new Forbidden();
  const update = readUpdate(parsed(bytesOf(params)));
  if (update === undefined) throw new BadRequest("malformed_update", "This is no update");
  await takeUpdate(runtime, bot.key, update);
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
