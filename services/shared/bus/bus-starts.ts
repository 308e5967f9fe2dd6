// A node's start is part of who it is. Whoever starts a node anew under the same name must not be told what was said to
// its earlier start, nor be taken for it: an old request would run, an old DISCONNECT would take the new one out of the
// others' lists, an old INFO would end it ("nodeID conflict"). So every packet about a node names the start that sent it,
// and every request, event and introduction the start that it is for.
// Another node's start is believed when it has spoken to this one: by an INFO that names this node's own start. So what
// was recorded before this node started persuades it of nothing. Anything else of an unknown start is answered by the
// question who is there (DISCOVER), and dropped.
import { LRUCache } from "lru-cache";
import type { Middleware, ServiceBroker } from "moleculer";
import type { Dropped } from "./bus-seal.ts";

const askersMax = 256;

interface Packet {
  type: string;
  target?: string | null;
  payload: { sender?: string; start?: unknown; for?: unknown; [more: string]: unknown };
}
type Publish = (packet: Packet) => Promise<unknown>;
type Handle = (command: string, packet: Packet) => Promise<unknown>;

// What Moleculer does not declare.
interface Transit {
  discoverNode(id: string): Promise<void>;
  discoverer: { sendLocalNodeInfo(id?: string): Promise<void> };
}
interface Nodes {
  get(id: string): { instanceID: string | null; available: boolean } | undefined;
  disconnected(id: string, unexpected: boolean): void;
}

/** @param dropped is counted up */
export function busStarts(dropped: Pick<Dropped, "other_start">): Middleware {
  let starts: Starts | undefined;
  const drop = (): Promise<unknown> => {
    dropped.other_start++;
    return Promise.resolve(false);
  };
  const hooks = {
    name: "bus-starts",
    created(broker: ServiceBroker) {
      starts = new Starts(broker);
    },
    transitPublish: (next: Publish) => (packet: Packet) => {
      starts?.name(packet);
      return next(packet);
    },
    transitMessageHandler: (next: Handle) => (command: string, packet: Packet) =>
      starts?.concerns(command, packet.payload) === true ? next(command, packet) : drop(),
  };
  // Moleculer declares these two hooks as if they answered what the wrapped functions answer.
  return hooks as unknown as Middleware;
}

class Starts {
  readonly #broker: ServiceBroker;
  /** Who has asked for an introduction and gets it next: the start by the node's name. */
  readonly #askers = new LRUCache<string, { start: unknown }>({ max: askersMax });

  constructor(broker: ServiceBroker) {
    this.#broker = broker;
  }

  /** Writes into a packet whose it is and for whom. */
  name({ type, target, payload }: Packet): void {
    if (type === "INFO" || type === "DISCOVER" || type === "HEARTBEAT" || type === "DISCONNECT")
      payload.start = this.#broker.instanceID;
    if (target == null) return;
    if (type === "REQ" || type === "EVENT") payload.for = this.#nodes.get(target)?.instanceID;
    if (type === "INFO") payload.for = this.#asker(target) ?? this.#nodes.get(target)?.instanceID;
  }

  /** Whether a packet concerns this start of this node, and comes from a start that it knows. */
  concerns(command: string, { sender = "", start, for: meant }: Packet["payload"]): boolean {
    const own = this.#broker.instanceID;
    if (command === "REQ" || command === "EVENT") return meant === own;
    if (command !== "INFO" && command !== "DISCOVER" && command !== "HEARTBEAT" && command !== "DISCONNECT")
      return true;
    if (sender === this.#broker.nodeID) return this.#concernsNamesake(command, start, meant);
    const known = this.#nodes.get(sender);
    const isKnown = known !== undefined && known.instanceID === start;
    if (command === "DISCOVER") {
      this.#remember(sender, start);
      if (!isKnown) this.#ask(sender);
      return true;
    }
    if (isKnown) return true;
    if (command === "INFO" && meant === own) {
      // What waits for the earlier start would wait in vain.
      if (known?.available === true) this.#nodes.disconnected(sender, true);
      return true;
    }
    this.#ask(sender);
    return false;
  }

  /**
   * This node's own packets come back to it. Another node of the same name is told that there is one already, and ends
   * by that; what an earlier start of this very node said is none of its business.
   */
  #concernsNamesake(command: string, start: unknown, meant: unknown): boolean {
    if (start === this.#broker.instanceID) return true;
    if (command === "INFO") return meant === this.#broker.instanceID;
    if (command === "DISCOVER") {
      this.#remember(this.#broker.nodeID, start);
      void this.#transit?.discoverer.sendLocalNodeInfo(this.#broker.nodeID);
    }
    return false;
  }

  get #nodes(): Nodes {
    // Moleculer declares its registry's catalogues with classes it does not export.
    return (this.#broker.registry as unknown as { nodes: Nodes }).nodes;
  }

  get #transit(): Transit | null | undefined {
    return this.#broker.transit;
  }

  #ask(node: string): void {
    void this.#transit?.discoverNode(node);
  }

  #remember(node: string, start: unknown): void {
    this.#askers.set(node, { start });
  }

  #asker(node: string): unknown {
    const start = this.#askers.get(node)?.start;
    this.#askers.delete(node);
    return start;
  }
}
