// When a gateway is ready, by the services and processes that it has seen, and what it says while it is not.
import { expect, it } from "@jest/globals";
import { judge, type Seen } from "../../../../services/api-gateway/services-seen.ts";

const seen: Seen = { missing: [], others: 2, foreign: 0, waitedMs: 0, namespace: "records" };

it.each<[string, Partial<Seen>, boolean, string | undefined]>([
  ["all were seen", {}, true, undefined],
  ["all were seen, and somebody sends rubbish", { foreign: 1_000 }, true, undefined],
  ["nobody was heard yet", { missing: ["auth"], others: 0 }, false, undefined],
  [
    "nobody is there",
    { missing: ["auth"], others: 0, waitedMs: 5_000 },
    false,
    "This gateway is not ready: nobody else is on this bus under NAMESPACE records; it and NATS_URL must be those of the other processes.",
  ],
  [
    "somebody is there who seals with another secret",
    { missing: ["auth"], others: 0, waitedMs: 5_000, foreign: 1 },
    false,
    "This gateway is not ready: BUS_SECRET differs from that of the other processes (it follows from BOOT_SECRET where it is not set).",
  ],
  [
    "processes are there, and one is not",
    { missing: ["auth", "users"], waitedMs: 14_999 },
    false,
    "This gateway is not ready: no process offers auth, users.",
  ],
  [
    "the indispensable one does not come",
    { missing: ["auth"], waitedMs: 1e9, foreign: 5 },
    false,
    "This gateway is not ready: no process offers auth.",
  ],
  [
    "another one does not come",
    { missing: ["payments"], waitedMs: 15_000 },
    true,
    "No process offers payments: what they do is answered 503.",
  ],
])("%s", (_what, facts, isReady, sentence) => {
  expect(judge({ ...seen, ...facts })).toEqual(sentence === undefined ? { isReady } : { isReady, sentence });
});
