// Moleculer's transporter for NATS, but for four things. What comes in is handed on with the subject it came on, as that
// is part of what is sealed (bus-seal.ts). Nothing is ever sent to "one of a group": a repeat of such a message could reach
// another member of the group, which has not seen it; each request names the node that is to answer it. And a node that is
// refused one of its subjects leaves the bus, where it would be half deaf: /livez then has it restarted. And where nobody
// listens for a node that is asked something, NATS says so at once, which is handed on (bus-silence.ts).
import { Transporters } from "moleculer";
import type { Msg, NatsConnection } from "nats";

const noGroups = "Messages to one of a group are not sent: see host/nats/nats-transporter.ts.";

/** Of NATS's own answer to a message that reached nobody. */
const nobodyListens = 503;

interface Facts {
  packet?: { type: string; target?: string | null };
}

export class NatsTransporter extends Transporters.NATS {
  /** Told the name of a node that nobody listens for. It is NATS's word, or that of whoever has the bus's login. */
  onUnheard: (node: string) => void = () => {};

  override async makeSubscriptions(topics: { cmd: string; nodeID?: string }[]): Promise<void> {
    await super.makeSubscriptions(topics);
    const begin = this.#unheardOf("");
    this.#connection?.subscribe(`${begin}>`, {
      callback: (error, { subject, headers }) => {
        if (error !== null) void this.#leave("UNHEARD", error);
        else if (headers?.code === nobodyListens) this.onUnheard(subject.slice(begin.length));
      },
    });
  }

  /** What a node is asked goes with an address for NATS's answer that nobody listens for it. */
  override async send(subject: string, data: Buffer, facts?: Facts): Promise<void> {
    const { type = "", target } = facts?.packet ?? {};
    const isAsked = (type === "REQ" || type === "PING") && target != null;
    this.#connection?.publish(subject, data, isAsked ? { reply: this.#unheardOf(target) } : {});
  }

  #unheardOf(node: string): string {
    return `${this.getTopicName("UNHEARD", this.nodeID)}.${node}`;
  }

  get #connection(): NatsConnection | null {
    // Moleculer declares its client as anything; null before the connection, and after leaving.
    return this.client as NatsConnection | null;
  }

  override async subscribe(command: string, nodeID?: string): Promise<void> {
    // Moleculer declares no third parameter for what its middlewares may be given, and its client as anything.
    const receive = this.receive.bind(this) as unknown as (
      command: string,
      data: Buffer,
      subject: string,
    ) => void;
    this.client.subscribe(this.getTopicName(command, nodeID), {
      callback: (error: Error | null, { data, subject }: Msg) => {
        if (error === null) receive(command, Buffer.from(data.buffer, data.byteOffset, data.length), subject);
        else void this.#leave(command, error);
      },
    });
  }

  async #leave(command: string, { message }: Error): Promise<void> {
    const { client } = this;
    if (client === null) return;
    this.client = null;
    this.connected = false;
    this.broker.logger.error(`The bus refuses what this node must hear (${command}): ${message}`);
    await client.close();
  }

  override subscribeBalancedRequest(): Promise<void> {
    return Promise.reject(new Error(noGroups));
  }

  override subscribeBalancedEvent(): Promise<void> {
    return Promise.reject(new Error(noGroups));
  }

  override publishBalancedRequest(): Promise<void> {
    return Promise.reject(new Error(noGroups));
  }

  override publishBalancedEvent(): Promise<void> {
    return Promise.reject(new Error(noGroups));
  }
}
