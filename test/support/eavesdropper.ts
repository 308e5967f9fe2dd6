// A stranger with NATS's own login: hears everything on the bus, understands nothing of it, and sends it again.
import { connect, type NatsConnection } from "nats";
import type { NatsServer } from "./nats.ts";

export interface Heard {
  subject: string;
  data: Uint8Array;
}

export class Eavesdropper {
  readonly bus: NatsConnection;
  #heard: Heard[] = [];

  private constructor(bus: NatsConnection) {
    this.bus = bus;
  }

  static async at(nats: Pick<NatsServer, "address" | "login">): Promise<Eavesdropper> {
    const bus = await connect({ servers: nats.address, ...nats.login });
    const made = new Eavesdropper(bus);
    bus.subscribe("MOL-records.>", {
      callback: (_error, { subject, data }) => {
        made.#heard.push({ subject, data: Uint8Array.from(data) });
      },
    });
    await bus.flush();
    return made;
  }

  /** What went by while `work` ran, of the subjects that begin so (`REQ`, `REQ.node-1`, `DISCONNECT`). */
  async during(begins: string, work: () => Promise<unknown>): Promise<Heard[]> {
    this.#heard = [];
    await work();
    await this.bus.flush();
    return this.heard(begins);
  }

  /** Of what went by since the last `during` began. */
  heard(begins: string): Heard[] {
    return this.#heard.filter(({ subject }) => `${subject}.`.startsWith(`MOL-records.${begins}.`));
  }

  /** Sends all of it again, in the order it came, `times` times, to its own subjects or to others. */
  async repeat(messages: readonly Heard[], times = 1, to = (subject: string) => subject): Promise<number> {
    for (let time = 0; time < times; time++)
      for (const { subject, data } of messages) this.bus.publish(to(subject), data);
    await this.bus.flush();
    return messages.length * times;
  }

  close(): Promise<void> {
    return this.bus.close();
  }
}
