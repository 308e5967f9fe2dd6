// Executes the sign-ins of one account from one address one after the other in each process. Parallel guesses
// wait for each other, and sign-ins from elsewhere are not delayed. The decision itself is made under
// database locks that cover all processes (settle-sign-in.ts).
import { Unavailable } from "../shared/errors.ts";

const waitingMax = 100;

/** A queue per name, with at most `waitingMax` callers in each. */
export class AttemptQueue {
  readonly #tails = new Map<string, { last: Promise<unknown>; waiting: number }>();

  /**
   * Runs `work` after all earlier work of the same name.
   * @throws Unavailable `busy` when the queue is full
   */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#tails.get(name) ?? { last: Promise.resolve(), waiting: 0 };
    if (queue.waiting >= waitingMax) throw new Unavailable("busy", "Too many sign-ins at the moment", 1);
    this.#tails.set(name, queue);
    queue.waiting++;
    const mine = queue.last.then(work);
    queue.last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      queue.waiting--;
      if (queue.waiting === 0) this.#tails.delete(name);
    }
  }
}
