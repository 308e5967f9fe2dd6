// Addresses of names. Asked of the name server directly and never of the operating system's resolver: that one has four
// threads for the whole process, and a few names that never answer would stop everybody's.
import { Resolver } from "node:dns/promises";
import { errorCode } from "../../services/shared/start-error.ts";

/** All addresses of a name; none when it has none. Rejects when the name server cannot be asked. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** @param servers "address:port" of name servers to ask instead of the machine's own, for tests */
export function nameServerAsker(servers?: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: 1_500, tries: 2 });
  if (servers !== undefined) resolver.setServers(servers);
  return async (name) => {
    // RFC 6761: these never leave the machine, and name servers do not know them.
    if (name === "localhost" || name.endsWith(".localhost")) return ["127.0.0.1"];
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    const failed = answers.find((answer) => answer.status === "rejected" && !isNone(answer.reason));
    // Half an answer is no answer: the other half may be the address that must not be reached.
    if (failed?.status === "rejected") throw failed.reason;
    return found;
  };
}

function isNone(error: unknown): boolean {
  const code = errorCode(error);
  return code === "ENODATA" || code === "ENOTFOUND";
}

const namesMax = 2_000;

interface Held {
  addresses: Promise<readonly string[]>;
  until: number;
}

/** Holds answers for some seconds, so that a burst to one name asks once. What is held is judged anew at each use. */
export class Names {
  readonly #resolve: Resolve;
  readonly #heldMs: number;
  readonly #held = new Map<string, Held>();

  constructor(resolve: Resolve, heldMs: number) {
    this.#resolve = resolve;
    this.#heldMs = heldMs;
  }

  addressesOf(name: string): Promise<readonly string[]> {
    const now = performance.now();
    const held = this.#held.get(name);
    if (held !== undefined && held.until > now) return held.addresses;
    this.#held.delete(name);
    if (this.#held.size >= namesMax) this.#dropOldest();
    const addresses = this.#resolve(name);
    this.#held.set(name, { addresses, until: now + this.#heldMs });
    // A failure is told to those who wait for it and not held.
    addresses.catch(() => {
      if (this.#held.get(name)?.addresses === addresses) this.#held.delete(name);
    });
    return addresses;
  }

  #dropOldest(): void {
    for (const [name] of this.#held) {
      this.#held.delete(name);
      return;
    }
  }
}
