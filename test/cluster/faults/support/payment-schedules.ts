// Schedules of notifications by chance, each of one payment: what its provider says of it, in what order and how often it
// is sent, and what a forger sends between. And the small model: what must be in the database when all is over.
import type pg from "pg";
import {
  cardBody,
  signedAs,
  walletBody,
  walletSecret,
  cardSecret,
  cardSignature,
} from "../../../support/notifications.ts";
import { dice } from "./seed.ts";

type Status = "pending" | "failed" | "succeeded" | "refunded";

interface Said {
  id: string;
  type: string;
  status: Status | undefined;
  /** Unix seconds. */
  at: number;
  amount: string;
  tenant: string;
}

export interface Delivery {
  id: string;
  path: string;
  body: string;
  /** Made anew for each try, as providers do. */
  headers: () => Record<string, string>;
  /** Of the last answer that is not 503. */
  expected: 200 | 400 | 409;
}

export interface Schedule {
  provider: "card" | "wallet";
  paymentId: string;
  tenant: string;
  said: Said[];
  deliveries: Delivery[];
  /** Sent side by side, not one after the other. */
  atOnce: boolean;
}

const statuses: readonly Status[] = ["pending", "failed", "succeeded", "refunded"];
const base = 1_790_000_000;

/** The same for the same seed and number. */
export function drawSchedule(seed: number, number: number, tenants: readonly string[]): Schedule {
  const roll = dice(Math.imul(seed, 31) + number * 7_919);
  const provider = roll(2) === 0 ? "card" : "wallet";
  const paymentId = `pay-${number}`;
  const tenant = tenants[roll(tenants.length)] ?? "";
  const said = Array.from({ length: 1 + roll(5) }, (_, n): Said => {
    const status = roll(12) === 0 ? undefined : statuses[roll(4)];
    const lost = roll(15) === 0;
    return {
      id: `n-${number}-${n}`,
      type: `payment.${status ?? "noted"}`,
      status,
      at: base + roll(4),
      amount: String(1 + roll(999)),
      tenant: lost ? "nobody-here" : tenant,
    };
  });
  const sent = said.flatMap((each) =>
    Array.from({ length: 1 + roll(3) }, () => genuine(provider, paymentId, each)),
  );
  const deliveries = sent.map((each) => ({ each, place: roll(1_000) })).toSorted((a, b) => a.place - b.place);
  const mixed = deliveries.flatMap(({ each }) =>
    roll(6) === 0 ? [forgery(provider, paymentId, each, roll), each] : [each],
  );
  const first = said[0];
  // Only what came before can be contradicted, so these come last.
  const contradiction = first !== undefined && roll(5) === 0 ? [contradict(provider, paymentId, first)] : [];
  return {
    provider,
    paymentId,
    tenant,
    said,
    deliveries: [...mixed, ...contradiction],
    atOnce: roll(3) === 0,
  };
}

function bodyOf(provider: string, paymentId: string, { id, type, at, amount, tenant }: Said): string {
  if (provider === "card")
    return cardBody({ id, type, created: at, amount: Number(amount), paymentId, tenant });
  return walletBody({ id, type, occurredAt: new Date(at * 1000).toISOString(), amount, paymentId, tenant });
}

function genuine(provider: "card" | "wallet", paymentId: string, said: Said): Delivery {
  const body = bodyOf(provider, paymentId, said);
  const headers = (): Record<string, string> =>
    provider === "card" ? { "provider-signature": cardSignature(body) } : {};
  return { id: said.id, path: `/webhooks/${provider}-provider`, body, headers, expected: 200 };
}

function contradict(provider: "card" | "wallet", paymentId: string, said: Said): Delivery {
  const other = { ...said, type: "payment.refunded", at: base + 100 };
  return { ...genuine(provider, paymentId, other), expected: 409 };
}

/** A refund that nobody signed, or that was signed for something else. */
function forgery(
  provider: "card" | "wallet",
  paymentId: string,
  { id }: Delivery,
  roll: (below: number) => number,
): Delivery {
  const said = {
    id: `${id}-forged`,
    type: "payment.refunded",
    at: base + 50,
    amount: "1",
    tenant: "demo",
    status: undefined,
  };
  const path = `/webhooks/${provider}-provider`;
  const body = bodyOf(provider, paymentId, said);
  const headers = [
    () => ({}),
    () => ({ "provider-signature": cardSignature(body, "not-the-right-secret") }),
    () => ({ "provider-signature": cardSignature(`${body} `) }),
    () => ({ "provider-signature": cardSignature(body, cardSecret, Math.floor(Date.now() / 1000) - 400) }),
  ][roll(4)];
  if (provider === "card")
    return { id: said.id, path, body, headers: headers ?? (() => ({})), expected: 400 };
  const forged =
    roll(2) === 0
      ? body.replace('"amount":"1"', '"amount":"2"')
      : body.replace(/"signature":"../, '"signature":"zz');
  const other = roll(3) === 0 ? body.replace(/[0-9a-f]{64}/, signedAs("{}", walletSecret)) : forged;
  return { id: said.id, path, body: other, headers: () => ({}), expected: 400 };
}

/** In the order in which they occurred; of one moment, in the order of `statuses`. */
function statusOf(said: readonly Said[]): Status | undefined {
  let now: Status | undefined;
  const ordered = said.toSorted(
    (a, b) =>
      a.at - b.at || statuses.indexOf(a.status ?? "pending") - statuses.indexOf(b.status ?? "pending"),
  );
  for (const { status } of ordered)
    if (status !== "pending" || (now !== "failed" && now !== "refunded")) now = status;
  return now;
}

/** What the payment of a schedule must be in the end; undefined: there is none. */
function expectedOf({ said, tenant }: Schedule): { status: Status; amount: string } | undefined {
  const heard = said.filter((each) => each.status !== undefined && each.tenant === tenant);
  const status = statusOf(heard);
  const newest = heard.toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1)).at(-1);
  return status === undefined || newest === undefined ? undefined : { status, amount: newest.amount };
}

interface Entry {
  target: string;
  changes: { from: Status | null; status: Status; notification_id: string };
}

const faultsMax = 20;

/** Everything in the database against the model; at most twenty sentences on what is wrong. */
export async function faultsIn(
  owner: Pick<pg.Client, "query">,
  schedules: readonly Schedule[],
): Promise<string[]> {
  const rows = async (text: string) => (await owner.query(text)).rows;
  const payments = new Map((await rows("select * from payments")).map((row) => [row.payment_id, row]));
  const inbox = new Map(
    (await rows("select * from payment_notifications")).map((row) => [row.notification_id, row]),
  );
  const entries = Map.groupBy(
    (await rows(
      "select target_id as target, changes from audit_entries where action = 'payment.update' order by tenant_id, seq",
    )) as Entry[],
    ({ target }) => target,
  );
  const events = Map.groupBy(
    await rows(
      "select kind, payload->>'payment_id' as target from events where kind like 'payment.%' order by id",
    ),
    ({ target }) => target,
  );
  const faults: string[] = [];
  const kept = schedules.reduce((sum, { said }) => sum + said.length, 0);
  if (inbox.size !== kept) faults.push(`${inbox.size} notifications are kept, not ${kept}`);
  for (const schedule of schedules) {
    const { paymentId, said } = schedule;
    const wrong = (what: string) => faults.push(`${paymentId}: ${what}`);
    const expected = expectedOf(schedule);
    const { status, amount } = payments.get(paymentId) ?? {};
    if (status !== expected?.status) wrong(`is ${status}, not ${expected?.status}`);
    if (amount !== expected?.amount) wrong(`has amount ${amount}, not ${expected?.amount}`);
    for (const { id } of said) if (!inbox.has(id)) wrong(`notification ${id} is lost`);
    const trail = entries.get(paymentId) ?? [];
    const told = (events.get(paymentId) ?? []).map(({ kind }) => kind);
    trail.forEach(({ changes }, at) => {
      if (changes.from !== (trail[at - 1]?.changes.status ?? null))
        wrong(`entry ${at} begins at ${changes.from}`);
      if (inbox.get(changes.notification_id)?.state !== "applied")
        wrong(`entry ${at} is of one that was not applied`);
    });
    if (trail.at(-1)?.changes.status !== expected?.status) wrong("its entries end elsewhere");
    const applied = said.filter(({ id }) => inbox.get(id)?.state === "applied");
    if (
      new Set(trail.map(({ changes }) => changes.notification_id)).size !== applied.length ||
      trail.length !== applied.length
    )
      wrong(`${applied.length} were applied, ${trail.length} are in the log`);
    const due = trail.filter(({ changes: { from, status: to } }) => from !== to && to !== "pending");
    const kinds = due.map(({ changes }) => `payment.${changes.status}`);
    if (kinds.join() !== told.join()) wrong(`told ${told.join()}, not ${kinds.join()}`);
    if (faults.length >= faultsMax) break;
  }
  return faults.slice(0, faultsMax);
}
