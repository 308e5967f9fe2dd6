// Answers wait in memory until their client has taken them. Together they may hold so much and no more: beyond it the
// one that waits longest is given up, with its connection. So clients that ask for much and read nothing hurt each other.
import type { ServerResponse } from "node:http";

/** A connection has one answer at a time, and the system's buffers take what is smaller, or nearly. */
const countedBytesMin = 4_096;

export class AnswerBudget {
  readonly #bytesMax: number;
  /** The oldest first. */
  readonly #waiting = new Map<ServerResponse, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Called before the answer is written; it counts until it is taken or its connection ends. */
  hold(response: ServerResponse, bytes: number): void {
    if (bytes < countedBytesMin || response.destroyed) return;
    this.#waiting.set(response, bytes);
    this.#bytes += bytes;
    response.once("close", () => this.#release(response));
    for (const oldest of this.#waiting.keys()) {
      if (this.#bytes <= this.#bytesMax || oldest === response) break;
      this.#release(oldest);
      oldest.destroy();
    }
  }

  #release(response: ServerResponse): void {
    this.#bytes -= this.#waiting.get(response) ?? 0;
    this.#waiting.delete(response);
  }
}
