// Metrics whose value is read at the scrape. The caller registers them.
import { Counter, Gauge } from "prom-client";

/** @param read undefined or an exception shows no value */
export function readGauge(name: string, help: string, read: () => number | undefined): Gauge {
  return new Gauge({
    name,
    help,
    registers: [],
    collect() {
      const value = valueOf(read);
      if (value === undefined) this.remove();
      else this.set(value);
    },
  });
}

/** A counter whose value only grows. */
export function readCounter(name: string, help: string, read: () => number): Counter {
  return new Counter({
    name,
    help,
    registers: [],
    collect() {
      this.reset();
      this.inc(valueOf(read) ?? 0);
    },
  });
}

/** A counter with one label. @param read returns all values of the label with their counts */
export function readCounters(
  name: string,
  help: string,
  label: string,
  read: () => Readonly<Record<string, number>>,
): Counter {
  return new Counter({
    name,
    help,
    labelNames: [label],
    registers: [],
    collect() {
      this.reset();
      for (const [value, count] of Object.entries(read())) this.inc({ [label]: value }, count);
    },
  });
}

function valueOf<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
