// What costs most of a message is not its bytes: it is the sealing, NATS's own work and above all the write to the socket.
// So requests and answers that are published in one turn of the event loop are sent together at its end, in one write, and
// those for the same subject as one message (a bundle), which is sealed, numbered and opened once. A lone request waits for
// nothing but the end of the turn. Everything else (who is there, who leaves, events) is sent at once and alone, after what
// was published before it.
// A node says in its metadata that it takes bundles. Versions that do not say so are sent one packet a message.
import { type Middleware, Errors, type ServiceBroker } from "moleculer";
import { detached } from "../tracing.ts";

/** Packets are JSON and parts begin with a NUL (bus-parts.ts), so nothing else begins with this. */
const mark = 1;
const lengthBytes = 4;
/** More would keep the first of them waiting, while another core has nothing to do. */
export const packetsMax = 32;
export const bundleBytesMax = 64 * 1_024;

export interface Facts {
  packet: { type: string; target?: string | null };
}
export type Send = (subject: string, data: Buffer, facts: Facts) => Promise<unknown>;
type Receive = (command: string, data: Buffer, ...rest: unknown[]) => Promise<unknown> | undefined;

// What Moleculer does not declare.
interface Nodes {
  get(id: string): { metadata?: { bundles?: unknown } | null } | undefined;
}
interface Transporter {
  tx: { connected: boolean };
}

export function busBundles(): Middleware {
  let broker: ServiceBroker | undefined;
  const isConnected = () => {
    // Moleculer declares its transit without the transporter, and as if it were always there.
    const transit = broker?.transit as unknown as Transporter | null | undefined;
    return transit?.tx.connected === true;
  };
  const takesBundles = (node: string) => {
    // Moleculer declares its registry's catalogues with classes it does not export.
    const nodes = (broker?.registry as unknown as { nodes: Nodes } | undefined)?.nodes;
    return nodes?.get(node)?.metadata?.bundles === true;
  };
  const hooks = {
    name: "bus-bundles",
    created(made: ServiceBroker) {
      broker = made;
      Object.assign(broker.metadata, { bundles: true });
    },
    transporterSend: (next: Send) => {
      const turn = new Turn(next, takesBundles, isConnected);
      return (subject: string, data: Buffer, facts: Facts) => turn.send(subject, data, facts);
    },
    transporterReceive:
      (next: Receive) =>
      (command: string, data: Buffer, ...rest: unknown[]) => {
        if (data[0] !== mark) return next(command, data, ...rest);
        const packets = packetsOf(data);
        if (packets.length === 0) broker?.logger.warn("A bundle on the bus was not one: it was dropped.");
        for (const packet of packets) void next(command, packet, ...rest);
        return Promise.resolve();
      },
  };
  // Moleculer declares these two hooks as if they answered what the wrapped functions answer.
  return hooks as unknown as Middleware;
}

interface Waiting {
  facts: Facts;
  packets: Buffer[];
  bytes: number;
}

/** What is published in one turn of the event loop. */
export class Turn {
  readonly #next: Send;
  readonly #takesBundles: (node: string) => boolean;
  readonly #isConnected: () => boolean;
  /** By subject, in the order of their first packets. Each is bounded by `packetsMax` and `bundleBytesMax`. */
  readonly #waiting = new Map<string, Waiting>();
  /** Settled at the end of the turn, for all of it. */
  #end: PromiseWithResolvers<void> | undefined;
  /** What was handed on so far: each resolves, with its fault if there was one. */
  #sent: Promise<unknown>[] = [];

  constructor(next: Send, takesBundles: (node: string) => boolean, isConnected: () => boolean) {
    this.#next = next;
    this.#takesBundles = takesBundles;
    this.#isConnected = isConnected;
  }

  /** Resolves when it was handed to NATS's client. */
  send(subject: string, data: Buffer, facts: Facts): Promise<unknown> {
    const { type, target } = facts.packet;
    if ((type !== "REQ" && type !== "RES") || target == null || data.length > bundleBytesMax) {
      this.#publishAll();
      return this.#next(subject, data, facts);
    }
    const waiting = this.#waiting.get(subject) ?? { facts, packets: [], bytes: 0 };
    if (waiting.packets.length === packetsMax || waiting.bytes + data.length > bundleBytesMax)
      this.#publish(subject, waiting);
    this.#waiting.set(subject, waiting);
    waiting.packets.push(data);
    waiting.bytes += data.length;
    // It goes on for all of the turn, and not for the request that happens to be the first.
    if (this.#end === undefined) detached(() => setImmediate(() => this.#finish()));
    this.#end ??= Promise.withResolvers();
    return this.#end.promise;
  }

  #finish(): void {
    const end = this.#end;
    this.#end = undefined;
    this.#publishAll();
    const sent = this.#sent;
    this.#sent = [];
    void Promise.all(sent).then((faults) => {
      const fault = faults.find((each) => each !== undefined);
      if (fault === undefined) end?.resolve();
      else end?.reject(fault);
    });
  }

  #publishAll(): void {
    for (const [subject, waiting] of this.#waiting) this.#publish(subject, waiting);
    this.#waiting.clear();
  }

  #publish(subject: string, waiting: Waiting): void {
    const { facts, packets } = waiting;
    waiting.packets = [];
    waiting.bytes = 0;
    const node = facts.packet.target ?? "";
    if (packets.length > 1 && this.#takesBundles(node)) this.#handOn(subject, bundleOf(packets), facts);
    else for (const packet of packets) this.#handOn(subject, packet, facts);
  }

  #handOn(subject: string, data: Buffer, facts: Facts): void {
    // While the bus is away its client would keep it, and send it, stale, when that is back.
    const sending = this.#isConnected() ? this.#next(subject, data, facts) : Promise.reject(busIsAway());
    // It may be handed on before the turn ends: until then nobody would catch its fault.
    this.#sent.push(
      sending.then(
        () => undefined,
        (fault: unknown) => fault,
      ),
    );
  }
}

const busIsAway = () => new Errors.BrokerDisconnectedError("The bus is away");

export function bundleOf(packets: readonly Buffer[]): Buffer {
  const bytes = packets.reduce((sum, { length }) => sum + lengthBytes + length, 1);
  const bundle = Buffer.allocUnsafe(bytes);
  bundle[0] = mark;
  let at = 1;
  for (const packet of packets) {
    at = bundle.writeUInt32BE(packet.length, at);
    at += packet.copy(bundle, at);
  }
  return bundle;
}

/** @returns none when it is not a bundle of ours */
export function packetsOf(bundle: Buffer): Buffer[] {
  const packets: Buffer[] = [];
  for (let at = 1; at < bundle.length; ) {
    if (at + lengthBytes > bundle.length || packets.length === packetsMax) return [];
    const end = at + lengthBytes + bundle.readUInt32BE(at);
    if (end > bundle.length) return [];
    packets.push(bundle.subarray(at + lengthBytes, end));
    at = end;
  }
  return packets;
}
