// Telegram's rate limits: about thirty messages a second over all chats, and one a second to each. Senders
// wait here for their turn. When Telegram requests a pause, all wait; a sender that would wait too long is
// refused instead.
import { setTimeout as delay } from "node:timers/promises";

const overallGapMs = 40;
const chatGapMs = 1_000;
const waitMsMax = 10_000;

/** `seconds`: how long the pause lasts. */
export type Turn = { mayGo: true } | { mayGo: false; seconds: number };

/** Serialises messages per chat and overall. */
export class Pacer {
  #next = 0;
  #pausedUntil = 0;
  readonly #tails = new Map<number, Promise<void>>();

  /** Stops all messages for this long. */
  pause(seconds: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + seconds * 1000);
  }

  get isPaused(): boolean {
    return this.#pausedUntil > performance.now();
  }

  /** Waits for the chat's next turn, in the order of the calls. Rejects when `signal` is aborted. */
  async take(chatId: number, signal: AbortSignal): Promise<Turn> {
    const before = this.#tails.get(chatId) ?? Promise.resolve();
    const turn = before.then(() => this.#takeOverall(signal));
    const tail = turn
      .then(({ mayGo }) => (mayGo ? delay(chatGapMs, undefined, { ref: false }) : undefined))
      .catch(() => undefined)
      .then(() => {
        if (this.#tails.get(chatId) === tail) this.#tails.delete(chatId);
      });
    this.#tails.set(chatId, tail);
    return turn;
  }

  async #takeOverall(signal: AbortSignal): Promise<Turn> {
    for (;;) {
      signal.throwIfAborted();
      const now = performance.now();
      const pauseMs = this.#pausedUntil - now;
      if (pauseMs > waitMsMax) return { mayGo: false, seconds: Math.ceil(pauseMs / 1000) };
      if (pauseMs > 0) {
        await delay(pauseMs, undefined, { signal });
        continue;
      }
      const at = Math.max(now, this.#next);
      this.#next = at + overallGapMs;
      if (at > now) await delay(at - now, undefined, { signal });
      if (!this.isPaused) return { mayGo: true };
    }
  }
}
