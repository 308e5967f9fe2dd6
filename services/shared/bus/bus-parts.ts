// NATS takes messages of up to 1 MB. What is longer (a body near its limit, the list of thousands of tenants) travels
// in parts and is put together again on the other side; NATS keeps the order of one sender to one subject. Each part is
// sealed by itself (sealed-bus.ts is nearer to the wire), so no stranger adds, repeats or mixes parts. What is longer than
// `messageBytesMax` is not sent: an answer is replaced by a refusal, so that nobody waits for it in vain.
import { randomBytes } from "node:crypto";
import type { Middleware, ServiceBroker } from "moleculer";
import { Unavailable } from "../errors.ts";

const partBytesMax = 512 * 1_024;
const messageBytesMax = 16 * 1_024 * 1_024;
/** Of all messages that are still incomplete, oldest given up first: their sender died. */
export const incompleteBytesMax = 4 * messageBytesMax;
/** The next part of a message comes at once, or its sender died. */
const incompleteMsMax = 30_000;
const partsMax = messageBytesMax / partBytesMax;

// Packets are JSON, so nothing else begins with a NUL. Then 12 bytes of the message's own, index and count.
const mark = 0;
const idBytes = 12;
const headBytes = 1 + idBytes + 2;

type Send = (topic: string, data: Buffer, facts: { packet: Packet }) => Promise<void>;
type Receive = (command: string, data: Buffer, ...rest: unknown[]) => Promise<unknown> | undefined;
interface Packet {
  type: string;
  target: string;
  payload: { id: string };
}
interface Transit {
  sendResponse(node: string, id: string, meta: object, headers: null, data: null, error: Error): unknown;
}

export function busParts(): Middleware {
  let broker: ServiceBroker | undefined;
  const gather = new Gathering();
  const send = (next: Send) => (topic: string, data: Buffer, facts: { packet: Packet }) => {
    if (data.length <= partBytesMax) return next(topic, data, facts);
    if (data.length <= messageBytesMax) return sendParts(data, (part) => next(topic, part, facts));
    return refuse(broker, data.length, facts.packet);
  };
  const receive =
    (next: Receive) =>
    (command: string, data: Buffer, ...rest: unknown[]) => {
      if (data[0] !== mark) return next(command, data, ...rest);
      const whole = gather.add(data);
      return whole === undefined ? Promise.resolve() : next(command, whole, ...rest);
    };
  const hooks = {
    name: "bus-parts",
    created(made: ServiceBroker) {
      broker = made;
    },
    transporterSend: send,
    transporterReceive: receive,
  };
  // Moleculer declares these two hooks as if they answered what the wrapped functions answer.
  return hooks as unknown as Middleware;
}

async function sendParts(data: Buffer, send: (part: Buffer) => Promise<void>): Promise<void> {
  for (const part of partsOf(data)) await send(part);
}

export function partsOf(data: Buffer): Buffer[] {
  const id = randomBytes(idBytes);
  const count = Math.ceil(data.length / partBytesMax);
  return Array.from({ length: count }, (_, index) => {
    const chunk = data.subarray(index * partBytesMax, (index + 1) * partBytesMax);
    return Buffer.concat([Buffer.from([mark]), id, Buffer.from([index, count]), chunk]);
  });
}

async function refuse(broker: ServiceBroker | undefined, bytes: number, packet: Packet): Promise<void> {
  broker?.logger.warn(`A message of ${bytes} bytes is too large for the bus.`);
  const tooLarge = new Unavailable(
    "answer_too_large",
    "The answer is too large to be sent between processes",
  );
  if (packet.type !== "RES") throw tooLarge;
  // Moleculer declares its transit without this method.
  const transit = broker?.transit as unknown as Transit | undefined;
  await transit?.sendResponse(packet.target, packet.payload.id, {}, null, null, tooLarge);
}

interface Incomplete {
  chunks: Buffer[];
  bytes: number;
  latestMs: number;
}

export class Gathering {
  /** In the order of their first parts. A Map, as entries grow while they lie here and their bytes are what is bounded. */
  readonly #incomplete = new Map<string, Incomplete>();
  #bytes = 0;

  /** Of all that is incomplete. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @returns the whole message with its last part */
  add(part: Buffer, nowMs = performance.now()): Buffer | undefined {
    this.#forgetOld(nowMs);
    const [index = 0, count = 0] = part.subarray(1 + idBytes, headBytes);
    const chunk = part.subarray(headBytes);
    if (chunk.length === 0 || chunk.length > partBytesMax || count > partsMax || index >= count)
      return undefined;
    const id = part.toString("latin1", 1, 1 + idBytes);
    const begun = this.#incomplete.get(id) ?? { chunks: [], bytes: 0, latestMs: nowMs };
    // Out of order: a part was lost with a connection, and the message with it.
    if (index !== begun.chunks.length) return this.#forget(id);
    begun.chunks.push(chunk);
    begun.bytes += chunk.length;
    begun.latestMs = nowMs;
    this.#bytes += chunk.length;
    this.#incomplete.set(id, begun);
    if (begun.chunks.length === count) {
      this.#forget(id);
      return Buffer.concat(begun.chunks);
    }
    for (const oldest of this.#incomplete.keys()) {
      if (this.#bytes <= incompleteBytesMax) break;
      this.#forget(oldest);
    }
    return undefined;
  }

  #forgetOld(nowMs: number): void {
    for (const [id, { latestMs }] of this.#incomplete)
      if (nowMs - latestMs > incompleteMsMax) this.#forget(id);
  }

  #forget(id: string): undefined {
    this.#bytes -= this.#incomplete.get(id)?.bytes ?? 0;
    this.#incomplete.delete(id);
  }
}
