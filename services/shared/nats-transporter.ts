// Moleculer's transporter for NATS, but for three things. What comes in is handed on with the subject it came on, as that
// is part of what is sealed (bus-seal.ts). Nothing is ever sent to "one of a group": a repeat of such a message could reach
// another member of the group, which has not seen it; each request names the node that is to answer it. And a node that is
// refused one of its subjects leaves the bus, where it would be half deaf: /livez then has it restarted.
import { Transporters } from "moleculer";
import type { Msg } from "nats";

const noGroups = "Messages to one of a group are not sent: see services/shared/nats-transporter.ts.";

export class NatsTransporter extends Transporters.NATS {
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
