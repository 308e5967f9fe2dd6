// Seals what leaves this process and opens what comes (bus-seal.ts); nothing is nearer to the wire.
import type { Middleware } from "moleculer";
import type { BusSeal, Dropped } from "./bus-seal.ts";
import type { BusTraffic } from "../../../host/metrics/bus-metrics.ts";

const warnEveryMs = 10_000;

type Reason = "foreign" | "stale" | "repeated";

const words: Record<Reason, string> = {
  foreign: "not sealed with our BUS_SECRET",
  stale: "older or newer than a minute",
  repeated: "repeated",
};

type Send = (subject: string, data: Buffer, facts: object) => Promise<void>;
type Receive = (command: string, data: Buffer, subject?: string) => Promise<unknown> | undefined;

/**
 * @param makeSeal asked when the first message goes or comes: by then the secrets are known
 * @param traffic is counted up
 * @param warn told at most every 10 s what was dropped
 */
export function sealedBus(
  makeSeal: () => BusSeal,
  dropped: Readonly<Dropped>,
  traffic: BusTraffic,
  warn: (sentence: string) => void,
): Middleware {
  let made: BusSeal | undefined;
  const seal = () => (made ??= makeSeal());
  const report = reporter(dropped, warn);
  const hooks = {
    name: "bus-seal",
    transporterSend: (next: Send) => (subject: string, data: Buffer, facts: object) => {
      const sealed = seal().seal(subject, data);
      traffic.sentBytes += sealed.length;
      traffic.sentMessages++;
      return next(subject, sealed, facts);
    },
    transporterReceive: (next: Receive) => (command: string, data: Buffer, subject?: string) => {
      traffic.receivedBytes += data.length;
      traffic.receivedMessages++;
      // A transporter that does not tell the subject is none of ours (nats-transporter.ts).
      const opened = subject === undefined ? undefined : seal().open(subject, data);
      if (opened !== undefined) return next(command, opened, subject);
      report();
      return Promise.resolve();
    },
  };
  // Moleculer declares these two hooks as if they answered what the wrapped functions answer.
  return hooks as unknown as Middleware;
}

function reporter(dropped: Readonly<Dropped>, warn: (sentence: string) => void): () => void {
  let reported = { ...dropped };
  let reportedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - reportedAt < warnEveryMs) return;
    reportedAt = performance.now();
    // TypeScript forgets which keys `words` was made of.
    const parts = (Object.entries(words) as [Reason, string][])
      .map(([reason, word]) => ({ count: dropped[reason] - reported[reason], word }))
      .filter(({ count }) => count > 0)
      .map(({ count, word }) => `${count} ${word}`);
    reported = { ...dropped };
    if (parts.length > 0) warn(`Messages on the bus were dropped: ${parts.join(", ")}.`);
  };
}
