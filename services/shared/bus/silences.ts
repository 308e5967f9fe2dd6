// How long each node has been silent after it was asked something, and what follows from that. No clock and no bus: the
// moments are given (in ms), what is to be done is answered (bus-silence.ts does it).

/** Unanswered for so long: a slow action and a dead node look the same, so the node is asked whether it is there. */
const askAfterMs = 200;
const answerMsMax = 300;
/** How long a node has to answer when NATS says that nobody listens for it. */
const goneAfterMs = 250;
/** What cannot be done elsewhere is waited for so long. */
const giveUpAfterMs = 1_500;
/** A node that was heard so recently need not be asked before a call. */
const freshMs = 100;
export const lookEveryMs = 50;
/** This process itself stood still: what it did not hear meanwhile says nothing about the others. */
const lateMs = 100;

/**
 * ask: send it a PING. avoid: others are to be called, and what may run twice is called elsewhere. give up: nothing that
 * another node could do is waited for. gone: it is out of the list of nodes.
 */
export type Verdict = "ask" | "avoid" | "give up" | "gone";

interface Silence {
  since: number;
  askedAt: number | undefined;
  isAvoided: boolean;
  isUnheard: boolean;
}

export class Silences {
  readonly #silences = new Map<string, Silence>();
  readonly #heardAt = new Map<string, number>();
  #lookedAt = 0;

  get size(): number {
    return this.#silences.size;
  }

  isAvoided(node: string): boolean {
    return this.#silences.get(node)?.isAvoided === true;
  }

  /** NATS says that nobody listens for it. */
  isUnheard(node: string): boolean {
    return this.#silences.get(node)?.isUnheard === true;
  }

  isFresh(node: string, now: number): boolean {
    return now - (this.#heardAt.get(node) ?? Number.NEGATIVE_INFINITY) < freshMs;
  }

  /** Something was sent to it that it has to answer. */
  sent(node: string, now: number): void {
    if (!this.#silences.has(node)) this.#begin(node, now);
  }

  /** It is asked whether it is there. @returns false when it was asked already */
  ask(node: string, now: number): boolean {
    const silence = this.#silences.get(node) ?? this.#begin(node, now);
    if (silence.askedAt !== undefined) return false;
    silence.askedAt = now;
    return true;
  }

  /** @returns false when that is known already */
  unheard(node: string, now: number): boolean {
    const silence = this.#silences.get(node) ?? this.#begin(node, now);
    if (silence.isUnheard) return false;
    Object.assign(silence, { isUnheard: true, isAvoided: true, askedAt: now });
    return true;
  }

  /** @returns whether it was avoided until now */
  heard(node: string, now: number): boolean {
    this.#heardAt.set(node, now);
    const wasAvoided = this.isAvoided(node);
    this.#silences.delete(node);
    return wasAvoided;
  }

  /** It has left, or came again as another one. */
  forget(node: string): void {
    this.#silences.delete(node);
    this.#heardAt.delete(node);
  }

  /** To be called every `lookEveryMs`, as long as there are any. */
  look(now: number): [node: string, verdict: Verdict][] {
    const late = now - this.#lookedAt - lookEveryMs;
    this.#lookedAt = now;
    if (late > lateMs) {
      for (const silence of this.#silences.values()) {
        silence.since += late;
        if (silence.askedAt !== undefined) silence.askedAt += late;
      }
      return [];
    }
    return [...this.#silences].flatMap(([node, silence]): [string, Verdict][] => {
      const verdict = judge(silence, now);
      if (verdict === "ask") silence.askedAt = now;
      if (verdict === "avoid") silence.isAvoided = true;
      return verdict === undefined ? [] : [[node, verdict]];
    });
  }

  #begin(node: string, now: number): Silence {
    if (this.#silences.size === 0) this.#lookedAt = now;
    const silence = { since: now, askedAt: undefined, isAvoided: false, isUnheard: false };
    this.#silences.set(node, silence);
    return silence;
  }
}

function judge({ since, askedAt, isAvoided, isUnheard }: Silence, now: number): Verdict | undefined {
  if (askedAt === undefined) return now - since >= askAfterMs ? "ask" : undefined;
  if (isUnheard && now - askedAt >= goneAfterMs) return "gone";
  if (!isAvoided) return now - askedAt >= answerMsMax ? "avoid" : undefined;
  return now - since >= giveUpAfterMs ? "give up" : undefined;
}
