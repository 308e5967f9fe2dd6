// Answers wait in memory until their client has read them. Their total size is bounded: beyond the bound the answer that has
// waited longest is dropped together with its connection. So clients that request much and read nothing harm each other.
import type { ServerResponse } from "node:http";

/** A connection has one answer at a time, and the buffers of the system hold almost every smaller answer. */
const countedBytesMin = 4_096;

export class AnswerBudget {
  readonly #bytesMax: number;
  /** In order of age, the oldest first. */
  readonly #waiting = new Map<ServerResponse, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Called before the answer is written. The answer counts until it was read or its connection has ended. */
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
