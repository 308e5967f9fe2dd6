// The one way out to addresses that other people chose (webhooks, the messenger's root, anything later). Resolves the
// name, refuses unless every address of it may be reached, and connects to the address it has looked at: between the
// check and the connection nothing is resolved again. Follows no redirect, uses no proxy, opens no compressed answer, and
// is bounded in time, headers and bytes.
import type { BlockList } from "node:net";
import { blockListOf, isGlobal, isIn } from "./address-rules.ts";
import { Connections } from "./connections.ts";
import { exchange } from "./exchange.ts";
import type { Exchanged, OutboundFailure, OutboundRequest } from "./exchanged.ts";
import { Names, nameServerAsker, type Resolve } from "./names.ts";
import { isAddress, isWebPort, readTarget, type Target } from "./target.ts";

export interface OutboundOptions {
  /** Addresses or subnets that may be reached although they are not public, by http too and on any port. */
  allowSubnets: readonly string[];
  /** For tests. */
  resolve?: Resolve;
  namesHeldMs?: number;
  ca?: string;
}

export type OutboundResult = Exchanged & { durationMs: number };

export const deadlineMsMax = 15_000;
const checkMsMax = 4_000;
const addressesTriedMax = 3;

/** Whether an address may be reached by anybody, or because an operator says so, or not. */
type Standing = "public" | "allowed" | "inside";
const rememberedMax = 1_000;

type Found =
  | { target: Target; addresses: readonly string[] }
  | { failure: OutboundFailure; sentence: string };

export class Outbound {
  readonly #allowed: BlockList;
  readonly #names: Names;
  readonly #connections: Connections;
  /** Both follow from the text alone. */
  readonly #standings = new Map<string, Standing>();
  readonly #targets = new Map<string, ReturnType<typeof readTarget>>();

  constructor({ allowSubnets, resolve = nameServerAsker(), namesHeldMs = 5_000, ca }: OutboundOptions) {
    this.#allowed = blockListOf(allowSubnets);
    this.#names = new Names(resolve, namesHeldMs);
    this.#connections = new Connections(ca);
  }

  /**
   * Looks at a URL as `send` would, and connects to nothing.
   * @returns what is wrong with it, as a sentence without capital and full stop. A name without an address is wrong only
   * where nothing but an allowed address would do: it is looked at again each time it is used.
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
    const target = this.#targetOf(request.url);
    if ("fault" in target) return { ok: false, failure: "invalid_url", durationMs: 0 };
    const found = await this.#find(target, endsAt);
    if (!("addresses" in found)) {
      return { ok: false, failure: found.failure, durationMs: Math.round(performance.now() - startedAt) };
    }
    const result = await this.#exchange(found.target, found.addresses, request, endsAt);
    return { ...result, durationMs: Math.round(performance.now() - startedAt) };
  }

  /** The next address where nobody takes the connection: one of a name's hosts may be away. */
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

  /** Ends the connections that are kept. */
  close(): void {
    this.#connections.close();
  }

  async #find(target: Target, endsAt: number): Promise<Found> {
    const addresses = isAddress(target) ? [target.host] : await this.#resolve(target.host, endsAt);
    if (addresses.length === 0)
      return { failure: "unresolved", sentence: "the address's host name has no address" };
    // All of them, not only the one that will be used: a name with one foot inside is not a public one.
    const standings = addresses.map((address) => this.#standingOf(address));
    if (standings.includes("inside"))
      return { failure: "blocked", sentence: "the address is not on the public internet" };
    if (!standings.includes("public")) return { target, addresses };
    if (!target.tls) return { failure: "blocked", sentence: "the address has to begin with https://" };
    if (!isWebPort(target.port))
      return { failure: "blocked", sentence: "the address's port has to be 443, or 1024 or higher" };
    return { target, addresses };
  }

  #standingOf(address: string): Standing {
    return remembered(this.#standings, address, () => {
      if (isIn(this.#allowed, address)) return "allowed";
      return isGlobal(address) ? "public" : "inside";
    });
  }

  #targetOf(url: string): ReturnType<typeof readTarget> {
    return remembered(this.#targets, url, () => readTarget(url));
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

function remembered<V>(known: Map<string, V>, key: string, make: () => V): V {
  const found = known.get(key);
  if (found !== undefined) return found;
  if (known.size >= rememberedMax) known.clear();
  const made = make();
  known.set(key, made);
  return made;
}
