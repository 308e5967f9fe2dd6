// What goes over the bus, as this process sees it: counted next to the wire, where a message has its real size.
import type { Counter } from "prom-client";
import type { Dropped } from "../../services/shared/bus/bus-seal.ts";
import { readCounter, readCounters } from "./read-at-scrape.ts";

/** Counted up by whoever stands next to the wire (sealed-bus.ts) and by who watches the connection (bus-link.ts). */
export interface BusTraffic {
  sentBytes: number;
  sentMessages: number;
  receivedBytes: number;
  receivedMessages: number;
  disconnects: number;
  reconnects: number;
}

export const noTraffic = (): BusTraffic => ({
  sentBytes: 0,
  sentMessages: 0,
  receivedBytes: 0,
  receivedMessages: 0,
  disconnects: 0,
  reconnects: 0,
});

interface Watched {
  readonly busTraffic: Readonly<BusTraffic>;
  readonly droppedMessages: Readonly<Dropped>;
}

export function busMetrics({ busTraffic: traffic, droppedMessages }: Watched): Counter[] {
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
