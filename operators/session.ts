// The session of a command: calls under the operator's name, and waiting for long work.
import { setTimeout as delay } from "node:timers/promises";
import type { ServiceBroker } from "moleculer";
import type { Actions } from "../services/shared/bus/bus.ts";
import { isUnreached, LeftAlone } from "./failures.ts";
import type { ServiceConnection } from "./service-connection.ts";

const pollMs = 500;
/** Within this time another worker continues the job of one that died. */
const unreachedMsMax = 60_000;

export type Input<K extends keyof Actions> = Actions[K] extends { input: infer I } ? I : never;
export type Result<K extends keyof Actions> = Actions[K] extends { result: infer R } ? R : never;

export interface Progress {
  show(step: string, percent: number): void;
  end(): void;
}

/** The progress of long work. */
export interface WorkProgress {
  ends: boolean;
  step: string;
  percent: number;
}

/** The access of a command to the service. */
export class Session {
  readonly #joined: ServiceConnection;
  readonly #progress: Progress;
  /** Fires at Ctrl-C. */
  readonly signal: AbortSignal;

  constructor(joined: ServiceConnection, progress: Progress, signal: AbortSignal) {
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

  /** Calls an action that is known only by name. */
  callNamed(name: string, params: object): Promise<unknown> {
    return this.broker.call(name, params, { meta: this.#joined.meta() });
  }

  /**
   * Polls until the work has ended, and shows its progress. The work is durable and does not depend on the polling.
   * @param goesOn message if the operator stops waiting
   */
  async waitFor<T>(
    look: () => Promise<T>,
    standing: (answer: T) => WorkProgress,
    goesOn: string,
  ): Promise<T> {
    let heardAt = performance.now();
    try {
      for (;;) {
        const answer = await look().catch((error: unknown) => {
          if (!isUnreached(error) || performance.now() - heardAt > unreachedMsMax) throw error;
        });
        // undefined: the poll reached no node.
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

  /** Repeats a call until its answer is ready. @param isEarly whether the error means that it is not ready yet */
  async askUntilReady<T>(question: () => Promise<T>, isEarly: (error: unknown) => boolean): Promise<T> {
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
