// Metrics of the bus. They are counted at the transporter, where messages have their real size.
import type { Counter } from "prom-client";
import type { Dropped } from "../../services/shared/bus/bus-seal.ts";
import { readCounter, readCounters } from "./read-at-scrape.ts";

/** Incremented by the code at the transporter (sealed-bus.ts) and by the watcher of the connection (bus-link.ts). */
export interface BusTraffic {
  sentBytes: number;
  sentMessages: number;
  receivedBytes: number;
  receivedMessages: number;
  disconnects: number;
  reconnects: number;
}

/** @returns counters that start at 0 */
export const noTraffic = (): BusTraffic => ({
  sentBytes: 0,
  sentMessages: 0,
  receivedBytes: 0,
  receivedMessages: 0,
  disconnects: 0,
  reconnects: 0,
});

interface BusCounters {
  readonly busTraffic: Readonly<BusTraffic>;
  readonly droppedMessages: Readonly<Dropped>;
}

/** @returns the metrics, not registered yet */
export function busMetrics({ busTraffic: traffic, droppedMessages }: BusCounters): Counter[] {
  return [
    readCounters(
      "records_bus_dropped_total",
      "Messages on the bus that were not believed: foreign, stale, repeated, or of another start of a node",
      "reason",
      () => ({ ...droppedMessages }),
    ),
    readCounters("records_bus_bytes_total", "Bytes on the bus, sealed, by direction", "direction", () => ({
      in: traffic.receivedBytes,
      out: traffic.sentBytes,
    })),
    readCounters("records_bus_messages_total", "Messages on the bus by direction", "direction", () => ({
      in: traffic.receivedMessages,
      out: traffic.sentMessages,
    })),
    readCounter(
      "records_bus_disconnects_total",
      "How often the connection to the bus was lost",
      () => traffic.disconnects,
    ),
    readCounter(
      "records_bus_reconnects_total",
      "How often the connection to the bus came back",
      () => traffic.reconnects,
    ),
  ];
}
