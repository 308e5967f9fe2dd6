// The connection to the messenger, in the one process that holds the bot's lease: registers the bot, receives
// its updates and delivers events to chats. One process sends all events, so the messenger's rate limits are
// applied in one place.
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

const acquireEveryMs = 2_000;
const renewEveryMs = 3_000;
/** When the lease could not be renewed for this long, the process stops before another one can acquire it. */
const keptMsMax = (leaseSeconds - 4) * 1_000;
const retryMsMin = 500;
const retryMsMax = 30_000;
const checkEveryMs = 30_000;

type Failed = Extract<BotAnswer, { ok: false }>;

/** The worker of this process. */
export class MessengerConnection implements Worker {
  readonly #runtime: Runtime;
  readonly #bot: Bot;
  readonly #lease: BotLease;
  readonly #stopping = new AbortController();
  #loop: Promise<void> | undefined;
  /** The state as last stored and logged. */
  #savedState: string | undefined;

  constructor(runtime: Runtime, bot: Bot) {
    this.#runtime = runtime;
    this.#bot = bot;
    this.#lease = new BotLease(runtime.database, bot.key, randomUUID());
  }

  /** Starts the loop. Idempotent. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** Returns unsent deliveries to the queue, releases the lease and closes the connections. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    this.#bot.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      // If the database is unavailable, no process can hold the lease now.
      const isHeld = await this.#lease.acquireOrRenew().catch(() => false);
      if (isHeld) await this.#runWithLease();
      await pause(acquireEveryMs, signal);
    }
  }

  async #runWithLease(): Promise<void> {
    const { log } = this.#runtime;
    const leaseLost = new AbortController();
    const signal = AbortSignal.any([leaseLost.signal, this.#stopping.signal]);
    this.#savedState = undefined;
    log.info("this process speaks with the messenger");
    const worker = new DeliveryWorker(this.#runtime, messengerChannel(this.#runtime, this.#bot, signal));
    worker.start();
    const holding = this.#keepLease(leaseLost, signal);
    try {
      await this.#runSessions(signal);
    } finally {
      leaseLost.abort();
      await holding;
      await worker.stop();
      await this.#lease.release().catch(() => undefined);
      log.info("this process no longer speaks with the messenger");
    }
  }

  /** Renews the lease. Aborts the term when the lease is lost or may be lost. */
  async #keepLease(leaseLost: AbortController, signal: AbortSignal): Promise<void> {
    let renewedAt = performance.now();
    while (!signal.aborted) {
      await pause(renewEveryMs, signal);
      if (signal.aborted) return;
      const askedAt = performance.now();
      const isHeld = await this.#lease.acquireOrRenew().catch(() => undefined);
      if (isHeld === true) renewedAt = askedAt;
      if (isHeld === false || performance.now() - renewedAt > keptMsMax) leaseLost.abort();
    }
  }

  async #runSessions(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      let waitMs: number;
      try {
        const failed = await this.#session(signal, () => {
          failures = 0;
        });
        if (failed === undefined) return;
        await this.#setState(failed.trouble, failed.description);
        waitMs = (failed.retryAfterSeconds ?? 0) * 1000;
      } catch (error) {
        this.#runtime.log.warn({ err: error }, "the messenger's updates wait for the database");
        waitMs = 0;
      }
      const grown = Math.min(retryMsMax, retryMsMin * 2 ** Math.min(failures++, 10));
      const retryMs = Math.max(waitMs, grown * (0.5 + Math.random() / 2));
      await pause(retryMs, signal);
    }
  }

  /** Runs until a call fails. @param onSuccess called after each successful call */
  async #session(signal: AbortSignal, onSuccess: () => void): Promise<Failed | undefined> {
    const { config } = this.#runtime;
    const me = await this.#bot.call("getMe", {}, { signal });
    if (me.answer === "aborted" || signal.aborted) return undefined;
    if (!me.answer.ok) return me.answer;
    const usesWebhook = config.telegramWebhook;
    const { answer } = await register(this.#runtime, this.#bot, { signal });
    if (answer === "aborted") return undefined;
    if (!answer.ok) return answer;
    const succeeded = async () => {
      onSuccess();
      await this.#setState("ok", "", usernameIn(me.answer));
    };
    await succeeded();
    return usesWebhook
      ? this.#watch(signal, succeeded)
      : fetchUpdates(this.#runtime, this.#bot, signal, succeeded);
  }

  /** With a webhook the bot does not poll, so this loop detects failures. */
  async #watch(signal: AbortSignal, onSuccess: () => Promise<void>): Promise<Failed | undefined> {
    while (!signal.aborted) {
      await pause(checkEveryMs, signal);
      const { answer } = await this.#bot.call("getMe", {}, { signal });
      if (answer === "aborted") return undefined;
      if (!answer.ok) return answer;
      await onSuccess();
    }
    return undefined;
  }

  /** Stores and logs the state when it changes. */
  async #setState(state: "ok" | Failed["trouble"], description: string, username?: string): Promise<void> {
    if (this.#savedState === state) return;
    const { log } = this.#runtime;
    if (state !== "ok") log.warn({ trouble: state, description }, "the messenger is not reached");
    else log.info({ bot: username }, "the messenger is reached");
    await this.#lease.saveState(state === "ok" ? "ok" : "down", username);
    this.#savedState = state;
  }
}

function usernameIn(answer: BotAnswer | "aborted"): string | undefined {
  if (answer === "aborted" || !answer.ok) return undefined;
  const { result } = answer;
  if (typeof result !== "object" || result === null || !("username" in result)) return undefined;
  return typeof result.username === "string" ? result.username.replaceAll(/\W/g, "").slice(0, 64) : undefined;
}
