// Sign-ins of one account come one at a time per process, so that parallel guesses are counted before the next one is
// let through; other accounts are not held up.
import { Unavailable } from "../shared/errors.ts";

const waitingPerAccountMax = 100;

export class AccountQueue {
  readonly #tails = new Map<string, { last: Promise<unknown>; waiting: number }>();

  /** Runs `work` after all earlier work of the same account. */
  async run<T>(account: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#tails.get(account) ?? { last: Promise.resolve(), waiting: 0 };
    if (queue.waiting >= waitingPerAccountMax)
      throw new Unavailable("busy", "Too many sign-ins at the moment", 1);
    this.#tails.set(account, queue);
    queue.waiting++;
    const mine = queue.last.then(work);
    queue.last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      queue.waiting--;
      if (queue.waiting === 0) this.#tails.delete(account);
    }
  }
}
