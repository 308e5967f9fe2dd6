// Which nodes do not answer. Heartbeats tell it after six seconds; until then every second call would go to a dead node and
// wait there. So each node that was asked something and says nothing is asked whether it is there (PING), and NATS itself
// tells when nobody listens for a node any more (nats-transporter.ts). A node that does not answer is avoided by the next
// call, as long as another one offers the action; what it may still be doing is given up, or done elsewhere:
// - what may run twice (`repeatable` in its contract) is called elsewhere at once;
// - anything else is refused (503), as nobody knows whether it was done: it is never sent twice. To make that rare, a node
//   that was not heard for a moment is asked whether it is there before such a call is sent to it.
// A node that says that it cannot answer now (it is starting, or its database does not answer it) is avoided for a second.
// NATS's word alone is no proof: whoever has the bus's login can say the same. So it makes a node avoided, and only when
// the node does not answer a PING either (sealed like everything), it counts as gone.
import { type Context, Errors, type Middleware, type ServiceBroker, Strategies } from "moleculer";
import type { RecordsAction } from "./schemas.ts";
import { lookEveryMs, Silences, type Verdict } from "./silences.ts";

// What Moleculer does not declare.
interface Pending {
  action: RecordsAction;
  nodeID: string;
  reject(error: Error): void;
}
interface Transit {
  pendingRequests: Map<string, Pending>;
  sendPing(node: string): Promise<void>;
}
interface Registry {
  nodes: {
    get(id: string): { available: boolean } | undefined;
    disconnected(id: string, unexpected: boolean): void;
  };
  getActionEndpoints(action: string): { endpoints: { id: string; isAvailable: boolean }[] } | undefined;
}
interface Packet {
  type: string;
  target?: string | null;
  payload: { sender?: string };
}
type Publish = (packet: Packet) => Promise<unknown>;
type Handle = (command: string, packet: Packet) => Promise<unknown>;
type Call = (ctx: Context) => Promise<unknown>;

const refusedMs = 1_000;

export class NodeWatch {
  readonly #silences = new Silences();
  /** By node, until when it is left alone: it has refused a call. */
  readonly #refusedUntil = new Map<string, number>();
  /** Calls that wait to hear whether a node is there. Each is told within half a second. */
  readonly #asking = new Map<string, ((answered: boolean) => void)[]>();
  #broker: ServiceBroker | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Must stand before bus-starts in the list of middlewares: what comes from another start of a node is none of its words. */
  middleware(): Middleware {
    const hooks = {
      name: "bus-silence",
      created: (broker: ServiceBroker) => this.#watch(broker),
      transitPublish: (next: Publish) => (packet: Packet) => {
        if (packet.type === "REQ" && packet.target != null) this.#sent(packet.target);
        return next(packet);
      },
      transitMessageHandler: (next: Handle) => (command: string, packet: Packet) => {
        this.#heard(packet.payload.sender ?? "");
        return next(command, packet);
      },
      remoteAction: (next: Call, action: RecordsAction) => (ctx: Context) => this.#call(next, action, ctx),
      stopped: () => this.#rest(),
    };
    // Moleculer declares the two hooks of the transit as if they answered what the wrapped functions answer.
    return hooks as unknown as Middleware;
  }

  /** Round robin among those who answer; among all where nobody does. */
  strategy(): typeof Strategies.Base {
    const isAvoided = (id: string) => this.#isAvoided(id);
    return class AnsweringFirst extends Strategies.RoundRobin {
      override select(list: Parameters<Strategies.RoundRobin["select"]>[0]) {
        const answering = list.filter(({ id }) => !isAvoided(id));
        return super.select(answering.length === 0 ? list : answering);
      }
    };
  }

  /** NATS says that nobody listens for the node: it has ended, or somebody lies. */
  unheard(node: string): void {
    if (!this.#isThere(node) || !this.#silences.unheard(node, performance.now())) return;
    this.#keepLooking();
    this.#act(node, "ask");
    this.#act(node, "avoid");
  }

  #watch(broker: ServiceBroker): void {
    this.#broker = broker;
    // Told before Moleculer refuses what is under way at that node.
    broker.localBus.on("$node.disconnected", ({ node }: { node: { id: string } }) => {
      this.#silences.forget(node.id);
      this.#refusedUntil.delete(node.id);
      this.#giveUp(node.id, ({ repeatable }) => repeatable === true);
      this.#tell(node.id, false);
    });
  }

  async #call(next: Call, action: RecordsAction, ctx: Context): Promise<unknown> {
    const node = ctx.nodeID ?? "";
    const isSure = action.repeatable === true || this.#silences.isFresh(node, performance.now());
    // Alone it is waited for, as it may only stand still.
    const isSent =
      isSure || (await this.#answers(node)) || (this.#isThere(node) && !this.#hasOther(action.name, node));
    if (!isSent) throw neverSent(action.name, node);
    try {
      return await next(ctx);
    } catch (error) {
      if (error instanceof Error && error.name === "ServiceNotAvailableError")
        this.#refusedUntil.set(node, performance.now() + refusedMs);
      throw error;
    }
  }

  #isAvoided(node: string): boolean {
    return this.#silences.isAvoided(node) || performance.now() < (this.#refusedUntil.get(node) ?? 0);
  }

  #answers(node: string): Promise<boolean> {
    if (this.#silences.isAvoided(node) && !this.#silences.isUnheard(node)) return Promise.resolve(false);
    if (this.#silences.ask(node, performance.now())) this.#act(node, "ask");
    this.#keepLooking();
    return new Promise((resolve) => {
      this.#asking.set(node, [...(this.#asking.get(node) ?? []), resolve]);
    });
  }

  #sent(node: string): void {
    if (node === this.#broker?.nodeID) return;
    this.#silences.sent(node, performance.now());
    this.#keepLooking();
  }

  #heard(node: string): void {
    if (!this.#isThere(node)) return;
    if (this.#silences.heard(node, performance.now()))
      this.#broker?.logger.warn(`The node ${node} answers again.`);
    this.#tell(node, true);
  }

  #keepLooking(): void {
    this.#timer ??= setInterval(() => {
      for (const [node, verdict] of this.#silences.look(performance.now())) this.#act(node, verdict);
      if (this.#silences.size === 0) this.#rest();
    }, lookEveryMs).unref();
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #act(node: string, verdict: Verdict): void {
    if (verdict === "ask") void this.#transit?.sendPing(node);
    else if (verdict === "gone") this.#registry?.nodes.disconnected(node, true);
    else if (verdict === "give up") this.#giveUp(node, ({ name }) => this.#hasOther(name, node));
    else {
      const isUnheard = this.#silences.isUnheard(node);
      this.#broker?.logger.warn(
        isUnheard ? `Nobody listens for the node ${node} any more.` : `The node ${node} does not answer.`,
      );
      this.#giveUp(node, ({ name, repeatable }) => repeatable === true && this.#hasOther(name, node));
      // Who wants to know whether it is there is told in a quarter of a second: it answers, or is gone.
      if (!isUnheard) this.#tell(node, false);
    }
  }

  #tell(node: string, answered: boolean): void {
    const asking = this.#asking.get(node) ?? [];
    this.#asking.delete(node);
    for (const resolve of asking) resolve(answered);
  }

  /** What may run twice is refused with an error that has it called again (moleculer.config.ts). */
  #giveUp(node: string, which: (action: RecordsAction) => boolean): void {
    const pendingRequests = this.#transit?.pendingRequests ?? new Map<string, Pending>();
    for (const [id, pending] of pendingRequests) {
      const { name, repeatable } = pending.action;
      if (pending.nodeID !== node || !which(pending.action)) continue;
      pendingRequests.delete(id);
      pending.reject(repeatable === true ? neverSent(name, node) : maybeDone(name, node));
    }
  }

  #hasOther(action: string, node: string): boolean {
    const { endpoints = [] } = this.#registry?.getActionEndpoints(action) ?? {};
    return endpoints.some(({ id, isAvailable }) => id !== node && isAvailable && !this.#isAvoided(id));
  }

  #isThere(node: string): boolean {
    return this.#registry?.nodes.get(node)?.available === true;
  }

  get #transit(): Transit | undefined {
    // Moleculer declares its transit without the open requests, and as if it were always there.
    return (this.#broker?.transit ?? undefined) as unknown as Transit | undefined;
  }

  get #registry(): Registry | undefined {
    return this.#broker?.registry;
  }
}

const neverSent = (action: string, nodeID: string) => new Errors.ServiceNotAvailableError({ action, nodeID });
const maybeDone = (action: string, nodeID: string) => new Errors.RequestRejectedError({ action, nodeID });
