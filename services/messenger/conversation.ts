// Speaking with the messenger, in the one process that holds the bot's lease: being known to it, getting its updates, and
// telling chats of events. That one process sends all events, so the messenger's limits are kept by one clock.
import { randomUUID } from "node:crypto";
import { DeliveryWorker } from "../../mixins/deliveries/delivery-worker.ts";
import type { Worker } from "../../mixins/worker.ts";
import { pause } from "../shared/pause.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { Bot } from "./bot.ts";
import type { BotAnswer } from "./bot-answer.rules.ts";
import { BotLease, leaseSeconds } from "./bot-lease.ts";
import { fetchUpdates } from "./fetch-updates.ts";
import { messengerChannel } from "./messenger-channel.ts";
import { register } from "./registration.ts";

const lookEveryMs = 2_000;
const holdEveryMs = 3_000;
/** Whoever could not prolong the lease for so long stops before another may begin. */
const holdMsMax = (leaseSeconds - 4) * 1_000;
const againMsMin = 500;
const againMsMax = 30_000;
const checkEveryMs = 30_000;

type Failed = Extract<BotAnswer, { ok: false }>;

export class Conversation implements Worker {
  readonly #runtime: Runtime;
  readonly #bot: Bot;
  readonly #lease: BotLease;
  readonly #ending = new AbortController();
  #loop: Promise<void> | undefined;
  /** As last written and logged. */
  #said: string | undefined;

  constructor(runtime: Runtime, bot: Bot) {
    this.#runtime = runtime;
    this.#bot = bot;
    this.#lease = new BotLease(runtime.database, bot.key, randomUUID());
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Gives what is under way back, and the lease to whoever wants it. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#loop;
    this.#bot.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      // The database may be away: then nobody holds anything for the moment.
      const isHeld = await this.#lease.hold().catch(() => false);
      if (isHeld) await this.#lead();
      await pause(lookEveryMs, signal);
    }
  }

  async #lead(): Promise<void> {
    const { log } = this.#runtime;
    const reign = new AbortController();
    const signal = AbortSignal.any([reign.signal, this.#ending.signal]);
    this.#said = undefined;
    log.info("this process speaks with the messenger");
    const worker = new DeliveryWorker(this.#runtime, messengerChannel(this.#runtime, this.#bot, signal));
    worker.start();
    const holding = this.#hold(reign, signal);
    try {
      await this.#converse(signal);
    } finally {
      reign.abort();
      await holding;
      await worker.stop();
      await this.#lease.release().catch(() => undefined);
      log.info("this process no longer speaks with the messenger");
    }
  }

  /** Prolongs the lease; ends the reign when it is lost, or may be. */
  async #hold(reign: AbortController, signal: AbortSignal): Promise<void> {
    let heldAt = performance.now();
    while (!signal.aborted) {
      await pause(holdEveryMs, signal);
      if (signal.aborted) return;
      const askedAt = performance.now();
      const isHeld = await this.#lease.hold().catch(() => undefined);
      if (isHeld === true) heldAt = askedAt;
      if (isHeld === false || performance.now() - heldAt > holdMsMax) reign.abort();
    }
  }

  async #converse(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      let waitMs: number;
      try {
        const failed = await this.#session(signal, () => {
          failures = 0;
        });
        if (failed === undefined) return;
        await this.#say(failed.trouble, failed.description);
        waitMs = (failed.retryAfterSeconds ?? 0) * 1000;
      } catch (error) {
        this.#runtime.log.warn({ err: error }, "the messenger's updates wait for the database");
        waitMs = 0;
      }
      const grown = Math.min(againMsMax, againMsMin * 2 ** Math.min(failures++, 10));
      const again = Math.max(waitMs, grown * (0.5 + Math.random() / 2));
      await pause(again, signal);
    }
  }

  /** Until there is trouble. @param wentWell called with each good answer */
  async #session(signal: AbortSignal, wentWell: () => void): Promise<Failed | undefined> {
    const { config } = this.#runtime;
    const me = await this.#bot.call("getMe", {}, { signal });
    if (me.answer === "aborted" || signal.aborted) return undefined;
    if (!me.answer.ok) return me.answer;
    const usesWebhook = config.telegramWebhook;
    const { answer } = await register(this.#runtime, this.#bot, { signal });
    if (answer === "aborted") return undefined;
    if (!answer.ok) return answer;
    const well = async () => {
      wentWell();
      await this.#say("ok", "", usernameIn(me.answer));
    };
    await well();
    return usesWebhook ? this.#watch(signal, well) : fetchUpdates(this.#runtime, this.#bot, signal, well);
  }

  /** With a webhook nothing is asked for, so that trouble would not be noticed. */
  async #watch(signal: AbortSignal, well: () => Promise<void>): Promise<Failed | undefined> {
    while (!signal.aborted) {
      await pause(checkEveryMs, signal);
      const { answer } = await this.#bot.call("getMe", {}, { signal });
      if (answer === "aborted") return undefined;
      if (!answer.ok) return answer;
      await well();
    }
    return undefined;
  }

  /** Written, and said in the log, when it changes. */
  async #say(state: "ok" | Failed["trouble"], description: string, username?: string): Promise<void> {
    if (this.#said === state) return;
    const { log } = this.#runtime;
    if (state !== "ok") log.warn({ trouble: state, description }, "the messenger is not reached");
    else log.info({ bot: username }, "the messenger is reached");
    await this.#lease.say(state === "ok" ? "ok" : "down", username);
    this.#said = state;
  }
}

function usernameIn(answer: BotAnswer | "aborted"): string | undefined {
  if (answer === "aborted" || !answer.ok) return undefined;
  const { result } = answer;
  if (typeof result !== "object" || result === null || !("username" in result)) return undefined;
  return typeof result.username === "string" ? result.username.replaceAll(/\W/g, "").slice(0, 64) : undefined;
}
