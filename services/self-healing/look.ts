// Looking for faults: each service is asked for those that are due, and what it finds is recorded. A service that does not
// answer is left out, and said; the others are looked at all the same.
import type { ServiceBroker } from "moleculer";
import { platform } from "../shared/database/scope.ts";
import { catalogue, type FaultCode } from "../shared/healing/catalogue.ts";
import type { KnownFault } from "../shared/healing/known-fault.ts";
import { askForFaults, type Finding } from "../shared/healing/port.ts";
import type { Runtime } from "../shared/runtime.ts";
import { recordLook } from "./record-look.ts";

export interface Looker {
  broker: ServiceBroker;
  runtime: Runtime;
}

export interface Seen {
  looked: number;
  found: number;
  opened: number;
  silent: string[];
}

export interface ServiceFinding extends Finding {
  service: string;
}

/** What one look found of one fault. */
export interface Look {
  known: KnownFault & { code: FaultCode };
  findings: ServiceFinding[];
  targets: number | null;
  cursor: string | null;
  silent: string[];
  startedAt: number;
}

interface Last {
  code: string;
  cursor: string | null;
  age: number;
  off: boolean;
}

/** A clock that ticks each minute is never quite on time. */
const earlySeconds = 20;

/** @param which what is due by the clock, all there is, or one fault that somebody suspects */
export async function lookForFaults(
  looker: Looker,
  which: "due" | "all" | { code: string },
  msMax: number,
): Promise<Seen> {
  const deadline = performance.now() + msMax;
  const last = new Map((await readLooks(looker.runtime)).map((row) => [row.code, row]));
  const age = (code: string) => last.get(code)?.age ?? Number.POSITIVE_INFINITY;
  const due = catalogue
    .filter(({ code }) => last.get(code)?.off !== true)
    .filter(({ code, everyMinutes }) =>
      typeof which === "object"
        ? code === which.code
        : which === "all" || age(code) >= everyMinutes * 60 - earlySeconds,
    )
    .sort((a, b) => age(b.code) - age(a.code));
  const seen: Seen = { looked: 0, found: 0, opened: 0, silent: [] };
  const silent = new Set<string>();
  for (const known of due) {
    // What there was no time for is the first next time.
    if (performance.now() > deadline) break;
    const look = await lookFor(looker, known, last.get(known.code)?.cursor ?? null);
    const opened = await recordLook(looker, look);
    seen.looked += 1;
    seen.found += look.findings.length;
    seen.opened += opened;
    for (const service of look.silent) silent.add(service);
  }
  return { ...seen, silent: [...silent].sort() };
}

/** Codes whose fix was deleted are not looked for until they are seeded again. */
function readLooks({ database }: Runtime): Promise<Last[]> {
  return database.read<Last>(platform, {
    name: "self-healing.looks",
    text: `select coalesce(l.code, f.code) as code, l.cursor,
        coalesce(extract(epoch from now() - l.looked_at), 1e9)::float8 as age, coalesce(f.off, false) as off
      from fault_looks l full join (select code, bool_and(deleted_at is not null) as off from fixes group by code) f
        on f.code = l.code`,
    values: [],
  });
}

async function lookFor(
  { broker, runtime }: Looker,
  known: Look["known"],
  cursor: string | null,
): Promise<Look> {
  const look: Look = {
    known,
    findings: [],
    targets: null,
    cursor: null,
    silent: [],
    startedAt: performance.now(),
  };
  for (const service of known.at) {
    try {
      const answer = await askForFaults(broker, service, {
        code: known.code,
        ...(cursor === null ? {} : { cursor }),
      });
      look.findings.push(...answer.findings.map((finding) => ({ ...finding, service })));
      if (answer.targets !== null) look.targets = (look.targets ?? 0) + answer.targets;
      look.cursor = answer.cursor;
    } catch (error) {
      look.silent.push(service);
      runtime.log.debug({ service, code: known.code, err: error }, "a service did not say what is at fault");
    }
  }
  return look;
}
