// Known faults of rows: counters, and what should have died.
import type { KnownFault } from "./known-fault.ts";

export const faultsOfData = {
  user_counts_differ: {
    at: ["users"],
    title: "Counters of users that differ from a count",
    problem:
      "The number of a tenant's users by role and state, which lists and health show, is not what counting gives.",
    remedy: "Adds to each counter what it differs by, as one transaction sees both.",
    never: "Changes a user. Changes that are made meanwhile stay counted.",
    risk: "low",
    everyMinutes: 5,
  },
} as const satisfies Record<string, KnownFault>;
