// Resolves names. It asks the name server directly and never the operating system's resolver. That one uses four threads for the
// whole process, so a few names that never answer would block every other lookup.
import { Resolver } from "node:dns/promises";
import { LRUCache } from "lru-cache";
import { errorCode } from "../../services/shared/start-error.ts";

/** @returns all addresses of a name; empty when it has none. Rejects when the name server cannot be asked. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** @param servers "address:port" of name servers, instead of the machine's own; for tests */
export function nameServerAsker(servers?: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: 1_500, tries: 2 });
  if (servers !== undefined) resolver.setServers(servers);
  return async (name) => {
    // RFC 6761: these names always mean the local machine, and name servers do not know them.
    if (name === "localhost" || name.endsWith(".localhost")) return ["127.0.0.1"];
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    const failed = answers.find((answer) => answer.status === "rejected" && !isNone(answer.reason));
    // If one of the two lookups failed, the result is not used: the missing address may be one that must not be reached.
    if (failed?.status === "rejected") throw failed.reason;
    return found;
  };
}

function isNone(error: unknown): boolean {
  const code = errorCode(error);
  return code === "ENODATA" || code === "ENOTFOUND";
}

const namesMax = 2_000;

/** Caches answers for some seconds, so that a burst to one name asks once. The addresses are checked again at each use. */
export class Names {
  readonly #resolve: Resolve;
  readonly #cached: LRUCache<string, Promise<readonly string[]>> | undefined;

  /** @param ttlMs 0: nothing is cached */
  constructor(resolve: Resolve, ttlMs: number) {
    this.#resolve = resolve;
    // To lru-cache a time of 0 means "for ever".
    if (ttlMs > 0) this.#cached = new LRUCache({ max: namesMax, ttl: ttlMs });
  }

  addressesOf(name: string): Promise<readonly string[]> {
    const cached = this.#cached?.get(name);
    if (cached !== undefined) return cached;
    const addresses = this.#resolve(name);
    this.#cached?.set(name, addresses);
    // A failure goes to the callers that wait for it, and is not cached.
    addresses.catch(() => {
      if (this.#cached?.peek(name) === addresses) this.#cached.delete(name);
    });
    return addresses;
  }
}
