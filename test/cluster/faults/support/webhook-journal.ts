// What must have come of every event and webhook, whatever happened to the process meanwhile: the journal of receivers and
// of the database, and the check that holds them against each other.

export interface Reception {
  hookId: number;
  /** The webhook-id. */
  id: string;
  at: number;
  /** What the receiver answered. */
  status: number;
  signed: boolean;
  body: string;
}

export interface JournalDelivery {
  /** As receivers see it. */
  id: string;
  hook_id: number;
  event_id: string;
  state: string;
}

export interface Journal {
  /** Every event with every webhook that asked for it. */
  due: readonly { hook_id: number; event_id: string }[];
  deliveries: readonly JournalDelivery[];
  receptions: readonly Reception[];
  /** When the process was killed. */
  kills: readonly number[];
}

const faultsMax = 10;

/** @returns a sentence for each fault, at most ten, and how often something was told again after it had been taken */
export function judge(journal: Journal): { faults: string[]; duplicates: number } {
  const faults = [...statesFaults(journal)];
  const byId = Map.groupBy(journal.receptions, ({ id }) => id);
  let duplicates = 0;
  for (const delivery of journal.deliveries) {
    const came = byId.get(delivery.id) ?? [];
    const taken = came.filter(({ status }) => status < 300);
    if (delivery.state === "succeeded" && taken.length === 0)
      faults.push(`${delivery.id} is said to have succeeded and never came`);
    if (delivery.state === "failed" && came.length === 0)
      faults.push(`${delivery.id} is said to have failed and was never tried`);
    if (new Set(came.map(({ body }) => body)).size > 1) faults.push(`${delivery.id} came in different words`);
    duplicates += Math.max(0, taken.length - 1);
    faults.push(...repetitionFaults(taken, journal.kills));
  }
  const known = new Set(journal.deliveries.map(({ id }) => id));
  for (const { id, signed } of journal.receptions) {
    if (!known.has(id)) faults.push(`${id} came and is in no log`);
    if (!signed) faults.push(`${id} came with a signature that is none`);
  }
  return { faults: faults.slice(0, faultsMax), duplicates };
}

function* statesFaults({ due, deliveries }: Journal): Iterable<string> {
  const byPair = Map.groupBy(deliveries, (each) => `${each.event_id} ${each.hook_id}`);
  for (const pair of due) {
    const found = byPair.get(`${pair.event_id} ${pair.hook_id}`) ?? [];
    const what = `event ${pair.event_id} for webhook ${pair.hook_id}`;
    if (found.length !== 1) yield `${what} has ${found.length} deliveries`;
    else if (!["succeeded", "failed"].includes(found[0]?.state ?? "")) yield `${what} is ${found[0]?.state}`;
  }
  if (deliveries.length > due.length)
    yield `there are ${deliveries.length} deliveries for ${due.length} pairs`;
}

/** Only a kill between the two excuses that something was told again after it had been taken. */
function* repetitionFaults(taken: readonly Reception[], kills: readonly number[]): Iterable<string> {
  for (let at = 1; at < taken.length; at++) {
    const [before, after] = [taken[at - 1]?.at ?? 0, taken[at]?.at ?? 0];
    if (!kills.some((kill) => kill >= before && kill <= after))
      yield `${taken[at]?.id} came again without a kill between`;
  }
}
