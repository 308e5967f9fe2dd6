// Resolves names. It asks the name server directly and never the operating system's resolver. That one uses four threads for the
// whole process, so a few names that never answer would block every other lookup.
import { Resolver } from "node:dns/promises";
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

interface CachedName {
  addresses: Promise<readonly string[]>;
  until: number;
}

/** Caches answers for some seconds, so that a burst to one name asks once. The addresses are checked again at each use. */
export class Names {
  readonly #resolve: Resolve;
  readonly #ttlMs: number;
  readonly #cached = new Map<string, CachedName>();

  constructor(resolve: Resolve, ttlMs: number) {
    this.#resolve = resolve;
    this.#ttlMs = ttlMs;
  }

  addressesOf(name: string): Promise<readonly string[]> {
    const now = performance.now();
    const cached = this.#cached.get(name);
    if (cached !== undefined && cached.until > now) return cached.addresses;
    this.#cached.delete(name);
    if (this.#cached.size >= namesMax) this.#dropOldest();
    const addresses = this.#resolve(name);
    this.#cached.set(name, { addresses, until: now + this.#ttlMs });
    // A failure goes to the callers that wait for it, and is not cached.
    addresses.catch(() => {
      if (this.#cached.get(name)?.addresses === addresses) this.#cached.delete(name);
    });
    return addresses;
  }

  #dropOldest(): void {
    for (const [name] of this.#cached) {
      this.#cached.delete(name);
      return;
    }
  }
}
