// Looking for faults: each service is asked for those that are due, and what it finds is recorded. A service that does not
// answer is left out, and said; the others are looked at all the same.
import type { ServiceBroker } from "moleculer";
import { platform } from "../shared/database/scope.ts";
import { catalogue, type FaultCode } from "../shared/healing/catalogue.ts";
import type { KnownFault } from "../shared/healing/known-fault.ts";
import { askForFaults, type Finding, findingsMax, type Looked } from "../shared/healing/port.ts";
import type { Runtime } from "../shared/runtime.ts";
import { system } from "./fix-row.ts";
import { deadSeconds } from "./incident.rules.ts";
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
  /** Whether a service found as many as it may name: there may be more. */
  full: boolean;
  startedAt: number;
}

interface Last {
  code: string;
  cursor: string | null;
  age: number;
  off: boolean;
}

/** A service that has left so many questions of one look unanswered is not asked again in it: each costs the whole wait. */
const unansweredMax = 2;
/** A clock that ticks each minute is never quite on time. */
const earlySeconds = 20;

/** @param which what is due by the clock, all there is, or one fault that somebody suspects */
export async function lookForFaults(
  looker: Looker,
  which: "due" | "all" | { code: string },
  msMax: number,
): Promise<Seen> {
  const deadline = performance.now() + msMax;
  const asking = new Asking(looker, deadline);
  await dismissOrphans(looker.runtime);
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
    const look = await lookFor(asking, known, last.get(known.code)?.cursor ?? null);
    const opened = await recordLook(looker, look, asking);
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

/** What was being mended when its fix was deleted, and whose process died, is nobody's any more. */
async function dismissOrphans({ database }: Runtime): Promise<void> {
  await database.write(platform, system, {
    name: "self-healing.dismiss_orphans",
    text: `with dismissed as (update incidents i set status = 'dismissed', ended_at = now() from fixes f
        where f.id = i.fix_id and f.deleted_at is not null and i.ended_at is null
          and (i.status <> 'healing' or i.tried_at < now() - interval '${deadSeconds} seconds')
        returning i.id, i.fix_id, i.tenant_id)
      insert into incident_steps (incident_id, fix_id, tenant_id, step)
      select id, fix_id, tenant_id, 'dismissed' from dismissed returning incident_id`,
    values: [],
  });
}

/** The questions of one look. */
export class Asking {
  readonly #looker: Looker;
  readonly #deadline: number;
  readonly #unanswered = new Map<string, number>();

  constructor(looker: Looker, deadline: number) {
    this.#looker = looker;
    this.#deadline = deadline;
  }

  get isOver(): boolean {
    return performance.now() > this.#deadline;
  }

  /** @returns undefined when the service does not answer, or has not before */
  async ask(service: string, asked: Parameters<typeof askForFaults>[2]): Promise<Looked | undefined> {
    const before = this.#unanswered.get(service) ?? 0;
    if (before >= unansweredMax) return undefined;
    const { broker, runtime } = this.#looker;
    try {
      return await askForFaults(broker, service, asked);
    } catch (error) {
      this.#unanswered.set(service, before + 1);
      runtime.log.debug({ service, code: asked.code, err: error }, "a service did not say what is at fault");
      return undefined;
    }
  }
}

async function lookFor(asking: Asking, known: Look["known"], cursor: string | null): Promise<Look> {
  const look: Look = {
    known,
    findings: [],
    targets: null,
    cursor: null,
    silent: [],
    full: false,
    startedAt: performance.now(),
  };
  for (const service of known.at) {
    const answer = await asking.ask(service, { code: known.code, ...(cursor === null ? {} : { cursor }) });
    if (answer === undefined) {
      look.silent.push(service);
      continue;
    }
    look.findings.push(...answer.findings.map((finding) => ({ ...finding, service })));
    if (answer.targets !== null) look.targets = (look.targets ?? 0) + answer.targets;
    look.cursor = answer.cursor;
    look.full ||= answer.findings.length >= findingsMax;
  }
  return look;
}
