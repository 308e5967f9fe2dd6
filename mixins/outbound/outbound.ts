// The only client for addresses that other people chose (webhooks, the messenger's root). It resolves the name, refuses unless
// every address of it may be reached, and connects to the address that was checked. Between the check and the connection nothing
// is resolved again. It follows no redirect, uses no proxy, does not decompress answers, and bounds time, headers and bytes.
import type { BlockList } from "node:net";
import { LRUCache } from "lru-cache";
import { isGlobal } from "./address-rules.ts";
import { blockListOf, isIn } from "../../services/shared/address-list.ts";
import { Connections } from "./connections.ts";
import { exchange } from "./exchange.ts";
import type { Exchanged, OutboundFailure, OutboundRequest } from "./exchanged.ts";
import { Names, nameServerAsker, type Resolve } from "./names.ts";
import { isAddress, isWebPort, readTarget, type Target } from "./target.ts";

export interface OutboundOptions {
  /** Addresses or subnets that may be reached although they are not public, also by http and on any port. */
  allowSubnets: readonly string[];
  /** For tests. */
  resolve?: Resolve;
  namesTtlMs?: number;
  ca?: string;
}

export type OutboundResult = Exchanged & { durationMs: number };

export const deadlineMsMax = 15_000;
const checkMsMax = 4_000;
const addressesTriedMax = 3;

/** public: anybody may reach it; allowed: a setting of the operator allows it; inside: must not be reached. */
type Reachability = "public" | "allowed" | "inside";
const cachedMax = 1_000;

type Found =
  | { target: Target; addresses: readonly string[] }
  | { failure: OutboundFailure; sentence: string };

/** The client. `send` and `check` never reject; they return the reason of a failure. */
export class Outbound {
  readonly #names: Names;
  readonly #connections: Connections;
  /** Caches; both results depend only on the text. */
  readonly #reachabilities: LRUCache<string, Reachability>;
  readonly #targets = new LRUCache<string, ReturnType<typeof readTarget>>({
    max: cachedMax,
    memoMethod: readTarget,
  });

  constructor({
    allowSubnets,
    resolve = nameServerAsker(),
    namesTtlMs: namesHeldMs = 5_000,
    ca,
  }: OutboundOptions) {
    const allowed = blockListOf(allowSubnets);
    this.#reachabilities = new LRUCache({
      max: cachedMax,
      memoMethod: (address) => reachabilityOf(address, allowed),
    });
    this.#names = new Names(resolve, namesHeldMs);
    this.#connections = new Connections(ca);
  }

  /**
   * Checks a URL as `send` does, without connecting.
   * @returns what is wrong with it, as a sentence without capital and full stop. A name without an address is accepted where a
   * public address would be: it is checked again at each use.
   */
  async check(url: string): Promise<{ failure: OutboundFailure; sentence: string } | undefined> {
    const target = readTarget(url);
    if ("fault" in target) return { failure: "invalid_url", sentence: target.fault };
    const found = await this.#find(target, performance.now() + checkMsMax);
    if ("addresses" in found) return undefined;
    return found.failure === "unresolved" && target.tls && isWebPort(target.port) ? undefined : found;
  }

  /** Never rejects. */
  async send(request: OutboundRequest): Promise<OutboundResult> {
    const startedAt = performance.now();
    const endsAt = startedAt + Math.min(request.deadlineMs ?? deadlineMsMax, deadlineMsMax);
    const target = this.#targets.memo(request.url);
    if ("fault" in target) return { ok: false, failure: "invalid_url", durationMs: 0 };
    const found = await this.#find(target, endsAt);
    if (!("addresses" in found)) {
      return { ok: false, failure: found.failure, durationMs: Math.round(performance.now() - startedAt) };
    }
    const result = await this.#exchange(found.target, found.addresses, request, endsAt);
    return { ...result, durationMs: Math.round(performance.now() - startedAt) };
  }

  /** Tries the next address when the connection is not accepted: one host of several behind a name may be down. */
  async #exchange(
    target: Target,
    addresses: readonly string[],
    request: OutboundRequest,
    endsAt: number,
  ): Promise<Exchanged> {
    for (const address of addresses.slice(0, addressesTriedMax)) {
      const result = await exchange({ target, address, request, connections: this.#connections, endsAt });
      if (result !== "unreachable") return result;
    }
    return { ok: false, failure: "connection" };
  }

  /** Closes the idle connections. */
  close(): void {
    this.#connections.close();
  }

  async #find(target: Target, endsAt: number): Promise<Found> {
    const addresses = isAddress(target) ? [target.host] : await this.#resolve(target.host, endsAt);
    if (addresses.length === 0)
      return { failure: "unresolved", sentence: "the address's host name has no address" };
    // All addresses are checked, not only the one that will be used: a name with one internal address is not public.
    const reachabilities = addresses.map((address) => this.#reachabilities.memo(address));
    if (reachabilities.includes("inside"))
      return { failure: "blocked", sentence: "the address is not on the public internet" };
    if (!reachabilities.includes("public")) return { target, addresses };
    if (!target.tls) return { failure: "blocked", sentence: "the address has to begin with https://" };
    if (!isWebPort(target.port))
      return { failure: "blocked", sentence: "the address's port has to be 443, or 1024 or higher" };
    return { target, addresses };
  }

  async #resolve(name: string, endsAt: number): Promise<readonly string[]> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<readonly string[]>((resolve) => {
      timer = setTimeout(() => resolve([]), Math.max(0, endsAt - performance.now()));
    });
    const asked = this.#names.addressesOf(name).catch((): readonly string[] => []);
    return Promise.race([asked, late]).finally(() => clearTimeout(timer));
  }
}

function reachabilityOf(address: string, allowed: BlockList): Reachability {
  if (isIn(allowed, address)) return "allowed";
  return isGlobal(address) ? "public" : "inside";
}
