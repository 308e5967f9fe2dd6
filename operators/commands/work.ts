// Commands on background work: durable jobs, deliveries to webhooks and chats, the cache.
import { cacheContract } from "../../services/cache/cache.contract.ts";
import { jobStates, type ListedJob } from "../../mixins/jobs/job-list.ts";
import { optional } from "../../services/shared/params/modifiers.ts";
import { flag, id, oneOf } from "../../services/shared/params/rules.ts";
import { command } from "../command.ts";
import { Misuse } from "../failures.ts";
import { actionList } from "../action-list.ts";
import type { Session } from "../session.ts";

/** Lists the jobs of all services. Each service sees only its own; a service that does not answer is named. */
async function jobs(session: Session, wish: object): Promise<object> {
  const list = actionList(session.broker, { onlyAvailable: true });
  const names = [...new Set(list.map(({ name }) => name).filter((name) => name.endsWith(".list_jobs")))];
  const silent: string[] = [];
  const lists = await Promise.all(
    names.sort().map(async (name) => {
      const answer = await session.callNamed(name, wish).catch(() => {
        silent.push(name.split(".")[0] ?? "");
      });
      return (answer as { items: ListedJob[] } | undefined)?.items ?? [];
    }),
  );
  const items = lists.flat().sort((a, b) => a.due_at.localeCompare(b.due_at));
  return { items, total: items.length, ...(silent.length === 0 ? {} : { silent }) };
}

export const workCommands = [
  command({
    name: "jobs",
    does: "Durable jobs of all services, the next one due first; `failing` ones will be tried again, `failed` ones will not",
    calls: [],
    fields: { state: optional(oneOf(jobStates, { description: "Only jobs in this state" })) },
    failed: (answer) => "silent" in (answer as object),
    run: (session, params) => jobs(session, params),
  }),
  command({
    name: "deliveries",
    does: "Webhooks and chats to which something is on its way, the longest waiting first",
    calls: ["webhooks.waiting_deliveries"],
    fields: { tenant: optional(id({ description: "Of this tenant alone" })) },
    run: (session, { tenant }) =>
      session.call("webhooks.waiting_deliveries", tenant === undefined ? {} : { tenant_id: tenant }),
  }),
  command({
    name: "cache",
    does: "What the cache holds and how it does, summed over its nodes",
    calls: ["cache.stats"],
    fields: {},
    run: (session) => session.call("cache.stats", {}),
  }),
  command({
    name: "cache cleanup",
    does: "Removes from the cache what has expired",
    calls: ["cache.cleanup"],
    fields: {},
    changes: true,
    run: (session) => session.call("cache.cleanup", {}),
  }),
  command({
    name: "cache invalidate",
    does: "Removes one patient's values from the cache, or all of them; they are read anew from the database",
    calls: ["cache.invalidate"],
    fields: {
      patient: optional(id({ description: "The patient's id" })),
      all: optional(flag({ description: "The whole cache" })),
    },
    changes: true,
    async run(session, { patient, all }) {
      if ((patient === undefined) === (all !== true))
        throw new Misuse("cache invalidate: say either --patient or --all.");
      return session.call(
        "cache.invalidate",
        patient === undefined ? { all: true } : { patient_id: patient },
      );
    },
  }),
  command({
    name: "cache warmup",
    does: "Loads patients into the cache ahead of their first reading",
    calls: ["cache.warmup"],
    fields: { patients: cacheContract["cache.warmup"].body.patient_ids },
    places: ["patients"],
    changes: true,
    run: (session, params) => session.call("cache.warmup", { patient_ids: params.patients }),
  }),
];
