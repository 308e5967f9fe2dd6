// Sign-ins of one account from one address come one at a time per process, so that parallel guesses wait for each other and
// not the others for them; whoever signs in elsewhere is not held up. What each of them may is decided under the locks of
// the counts (settle-sign-in.ts), over all processes.
import { Unavailable } from "../shared/errors.ts";

const waitingMax = 100;

export class AttemptQueue {
  readonly #tails = new Map<string, { last: Promise<unknown>; waiting: number }>();

  /** Runs `work` after all earlier work of the same name. */
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
