// What a command works with: calls under the operator's name, and long work that is followed until it ends.
import { setTimeout as delay } from "node:timers/promises";
import type { ServiceBroker } from "moleculer";
import type { Actions } from "../services/shared/bus/bus.ts";
import { isUnreached, LeftAlone } from "./failures.ts";
import type { Joined } from "./joined.ts";

const pollMs = 500;
/** Another worker takes up the job of one that died within this time. */
const unreachedMsMax = 60_000;

export type Input<K extends keyof Actions> = Actions[K] extends { input: infer I } ? I : never;
export type Result<K extends keyof Actions> = Actions[K] extends { result: infer R } ? R : never;

export interface Progress {
  show(step: string, percent: number): void;
  end(): void;
}

/** How far long work is. */
export interface Standing {
  ends: boolean;
  step: string;
  percent: number;
}

export class Session {
  readonly #joined: Joined;
  readonly #progress: Progress;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;

  constructor(joined: Joined, progress: Progress, signal: AbortSignal) {
    this.#joined = joined;
    this.#progress = progress;
    this.signal = signal;
  }

  get broker(): ServiceBroker {
    return this.#joined.broker;
  }

  call<K extends keyof Actions>(name: K, input: Input<K>): Promise<Result<K>> {
    return this.broker.call(name, input, { meta: this.#joined.meta() });
  }

  /** An action that is known by name alone. */
  callNamed(name: string, params: object): Promise<unknown> {
    return this.broker.call(name, params, { meta: this.#joined.meta() });
  }

  /**
   * Looks until the work has ended, and shows how far it is. The work itself is durable: it goes on whoever looks.
   * @param goesOn said where the operator leaves it alone
   */
  async follow<T>(look: () => Promise<T>, standing: (answer: T) => Standing, goesOn: string): Promise<T> {
    let heardAt = performance.now();
    try {
      for (;;) {
        const answer = await look().catch((error: unknown) => {
          if (!isUnreached(error) || performance.now() - heardAt > unreachedMsMax) throw error;
        });
        // A void answer is of a look that reached nobody.
        if (answer !== undefined) {
          heardAt = performance.now();
          const { ends, step, percent } = standing(answer);
          this.#progress.show(step, percent);
          if (ends) return answer;
        }
        await this.#pause(goesOn);
      }
    } finally {
      this.#progress.end();
    }
  }

  /** The same for a question whose answer is not ready yet. @param isEarly whether it has to be asked again */
  async ask<T>(question: () => Promise<T>, isEarly: (error: unknown) => boolean): Promise<T> {
    for (;;) {
      try {
        return await question();
      } catch (error) {
        if (!isEarly(error)) throw error;
      }
      await this.#pause("Nothing was changed.");
    }
  }

  async #pause(goesOn: string): Promise<void> {
    await delay(pollMs, undefined, { signal: this.signal }).catch(() => {
      throw new LeftAlone(goesOn);
    });
  }
}
