// What notifications make of a payment, by tables and by chance: any order of arrival ends in what the order of occurrence
// says.
import { describe, expect, it } from "@jest/globals";
import {
  afterNotification,
  eventOfChange,
  isVisibleChange,
  type PaymentState,
  type Status,
  statuses,
  type NotificationFacts,
  transitions,
} from "../../../../services/payments/payment.rules.ts";
import { decideBatch } from "../../../../services/payments/decide-batch.ts";
import type { KnownState } from "../../../../services/payments/inbox-statements.ts";
import { notificationItem } from "../../../support/notifications.ts";
import { dice } from "../../../cluster/faults/support/seed.ts";

const told = (
  status: Status,
  occurredMs: number,
  more: Partial<NotificationFacts> = {},
): NotificationFacts => ({
  notificationId: `${status}-${occurredMs}`,
  status,
  occurredMs,
  amount: "5",
  currency: "EUR",
  ...more,
});
const after = (all: readonly NotificationFacts[]): PaymentState | undefined =>
  all.reduce<PaymentState | undefined>((state, each) => afterNotification(state, each), undefined);

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, at) => permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));
}

/** The decision word for word: one after the other as they occurred, by the table. */
function history(all: readonly NotificationFacts[]): Status | undefined {
  const rank = (status: Status) => statuses.indexOf(status);
  const ordered = all.toSorted((a, b) => a.occurredMs - b.occurredMs || rank(a.status) - rank(b.status));
  return ordered.reduce<Status | undefined>(
    (status, next) => (status === undefined || transitions[status].has(next.status) ? next.status : status),
    undefined,
  );
}

describe("a payment after", () => {
  it.each<[name: string, notifications: [Status, number][], status: Status, occurredMs: number]>([
    ["the first word of it", [["pending", 1]], "pending", 1],
    [
      "the usual course",
      [
        ["pending", 1],
        ["succeeded", 2],
      ],
      "succeeded",
      2,
    ],
    [
      "a refund",
      [
        ["pending", 1],
        ["succeeded", 2],
        ["refunded", 3],
      ],
      "refunded",
      3,
    ],
    [
      "a second try",
      [
        ["failed", 1],
        ["succeeded", 2],
      ],
      "succeeded",
      2,
    ],
    [
      "a success taken back",
      [
        ["succeeded", 1],
        ["failed", 2],
      ],
      "failed",
      2,
    ],
    [
      "a success in doubt again",
      [
        ["succeeded", 1],
        ["pending", 2],
      ],
      "pending",
      2,
    ],
    [
      "a failure that pends",
      [
        ["failed", 1],
        ["pending", 2],
      ],
      "failed",
      1,
    ],
    [
      "a refund that pends",
      [
        ["refunded", 1],
        ["pending", 2],
      ],
      "refunded",
      1,
    ],
    [
      "a failure, a success and a doubt",
      [
        ["failed", 1],
        ["succeeded", 2],
        ["pending", 3],
      ],
      "pending",
      3,
    ],
    [
      "a failure, a doubt and a success",
      [
        ["failed", 1],
        ["pending", 2],
        ["succeeded", 3],
      ],
      "succeeded",
      3,
    ],
    [
      "one moment for all",
      [
        ["pending", 1],
        ["failed", 1],
        ["succeeded", 1],
        ["refunded", 1],
      ],
      "refunded",
      1,
    ],
    [
      "the same status later",
      [
        ["succeeded", 1],
        ["succeeded", 4],
      ],
      "succeeded",
      4,
    ],
  ])("%s, in whatever order it arrives", (_name, notifications, status, occurredMs) => {
    const all = notifications.map(([each, at]) => told(each, at));
    for (const arrival of permutations(all)) expect(after(arrival)).toMatchObject({ status, occurredMs });
  });
  it("ten thousand histories by chance is what the whole history says, also when all of it comes again", () => {
    const roll = dice(20_261_121);
    for (let round = 0; round < 10_000; round++) {
      const all = Array.from({ length: 1 + roll(7) }, (_, n) =>
        told(statuses[roll(4)] ?? "pending", roll(5), { notificationId: `n${n}`, amount: String(n) }),
      );
      const shuffled = all.map((each) => ({ each, at: roll(1_000) })).toSorted((a, b) => a.at - b.at);
      const state = after(shuffled.map(({ each }) => each));
      expect(state?.status).toBe(history(all));
      expect(state).toEqual(after(all));
      for (const each of all) expect(afterNotification(state, each)).toBe(state);
    }
  });
});

it("amount and currency are those of what occurred last; of equal moments, of the greater id", () => {
  const first = told("succeeded", 5, { amount: "10", notificationId: "b" });
  for (const arrival of permutations([
    first,
    told("pending", 4, { amount: "11", notificationId: "z" }),
    told("refunded", 5, { amount: "12", notificationId: "a" }),
  ]))
    expect(after(arrival)).toMatchObject({ amount: "10", status: "refunded" });
});

describe("what is told of a change", () => {
  const pending = after([told("pending", 1)]);
  it.each<[Status, string | undefined]>([
    ["pending", undefined],
    ["failed", "payment.failed"],
    ["succeeded", "payment.succeeded"],
    ["refunded", "payment.refunded"],
  ])("to %s: %s", (status, kind) => {
    const next = afterNotification(pending, told(status, 2));
    expect(eventOfChange(pending, next)).toBe(status === "pending" ? undefined : kind);
    expect(eventOfChange(undefined, afterNotification(undefined, told(status, 2)))).toBe(kind);
  });
  it("nothing, of the same status later; yet it is seen", () => {
    const before = afterNotification(undefined, told("refunded", 1));
    const next = afterNotification(before, told("refunded", 2));
    expect(eventOfChange(before, next)).toBeUndefined();
    expect(isVisibleChange(before, next)).toBe(true);
  });
  it("what has no say is remembered and not seen", () => {
    const before = afterNotification(undefined, told("failed", 1));
    const next = afterNotification(before, told("pending", 2));
    expect(next).not.toBe(before);
    expect(isVisibleChange(before, next)).toBe(false);
  });
});

describe("of a batch", () => {
  const known: KnownState = {
    tenant: { id: 7, active: true },
    platform_id: 1,
    notifications: null,
    payments: null,
  };
  const first = notificationItem({ id: "n-1", status: "succeeded", occurredMs: 1_000 });

  it("two that are equal act once", () => {
    const { outcomes, written } = decideBatch([first, first, first], known);
    expect(outcomes).toEqual(["taken", "duplicate", "duplicate"]);
    expect(written?.lines.map(({ kind }) => kind)).toEqual(["payment.succeeded"]);
    expect(written?.payments).toHaveLength(1);
  });

  it("two with one id that differ are a conflict of the one whom the first was for", () => {
    const other = notificationItem({ id: "n-1", status: "refunded", occurredMs: 2_000 });
    const { outcomes, written } = decideBatch([first, other], known);
    expect(outcomes).toEqual(["taken", { conflictIn: 7 }]);
    expect(written?.payments).toMatchObject([{ status: "succeeded", version: 1 }]);
  });

  it("each is decided on what the one before has made of the payment", () => {
    const refund = notificationItem({ id: "n-2", status: "refunded", occurredMs: 2_000 });
    const late = notificationItem({ id: "n-3", status: "pending", occurredMs: 500 });
    const { outcomes, written } = decideBatch([first, refund, late], known);
    expect(outcomes).toEqual(["taken", "taken", "taken"]);
    expect(written?.lines.map(({ state, kind }) => [state, kind])).toEqual([
      ["applied", "payment.succeeded"],
      ["applied", "payment.refunded"],
      ["stale", undefined],
    ]);
    // One row, whatever a batch does to it, and so one version.
    expect(written?.payments).toMatchObject([{ status: "refunded", version: 1 }]);
  });
});
