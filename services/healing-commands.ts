// What an operator looks at by hand at the REPL: how the service is, what is at fault and what is done about it, what waits.
// The actions that everybody uses, called under the operator's name; told as tables for people, or with --json whole.
import { userInfo } from "node:os";
import type { ServiceBroker } from "moleculer";
import { errorLine, shown } from "./repl/show.ts";
import { incidentStatuses } from "./self-healing/incident.rules.ts";
import { Caller } from "./shared/caller.ts";
import { StartError } from "./shared/embedded/start-error.ts";
import { catalogue } from "./shared/healing/catalogue.ts";
import { jobStates, type ListedJob } from "./shared/job-list.ts";

const widthDefault = 100;
const incidentsMax = 50;

type Options = Readonly<Record<string, string | boolean | undefined>>;
interface Typed {
  options: Options;
  code?: string;
}
type Row = Record<string, unknown>;
type Call = (name: string, params: object) => Promise<unknown>;

interface Command {
  usage: string;
  description: string;
  /** What may stand behind an option, or as the word itself (""), where that is known beforehand. */
  words?: Readonly<Record<string, readonly string[]>>;
  run(call: Call, typed: Typed, broker: ServiceBroker): Promise<unknown>;
  /** The columns for people; absent: all. */
  columns?: readonly string[];
}

const fixStatuses = ["proposed", "confirmed", "suspended"] as const;
const codes = catalogue.map(({ code }) => code);
const healable = catalogue.filter(({ remedy }) => remedy !== null).map(({ code }) => code);

export const healingCommands: Readonly<Record<string, Command>> = {
  health: {
    usage: "health",
    description: "How the service is, with counts of all tenants",
    run: (call) => call("health.report", {}),
  },
  incidents: {
    usage: "incidents",
    description: "What is or was at fault, newest first",
    words: { "--status": incidentStatuses, "--code": codes },
    run: (call, { options: { status, code } }) =>
      call("self-healing.incidents", { limit: incidentsMax, ...given({ status, code }) }),
    columns: ["id", "code", "status", "target", "tenant_id", "tries", "detected_at", "would_do"],
  },
  fixes: {
    usage: "fixes",
    description: "Known faults that were met or seeded, and whether their remedy is confirmed",
    words: { "--status": fixStatuses },
    async run(call, { options: { status } }) {
      const { items } = await fixesOf(call);
      const wanted = items.filter((fix) => status === undefined || fix["status"] === status);
      return { items: wanted, total: wanted.length };
    },
    columns: ["code", "status", "risk", "open_incidents", "healed", "failed", "suspended_reason", "title"],
  },
  confirm: {
    usage: "confirm <code>",
    description: "Lets a fix be applied by itself from now on, and heals what waits for it",
    words: { "": healable },
    async run(call, { code }) {
      const { items } = await fixesOf(call);
      const fix = items.find((each) => each["code"] === code);
      if (fix === undefined)
        throw new StartError(
          codes.some((each) => each === code)
            ? `${code} was not met yet: \`call self-healing.seed\` proposes every fix.`
            : `There is no fix ${code ?? ""}: \`fixes\` lists them.`,
        );
      return call("self-healing.confirm", { fix_id: fix["id"] });
    },
  },
  deliveries: {
    usage: "deliveries",
    description: "Webhooks and chats to which something is on its way, the longest waiting first",
    words: { "--tenant": [] },
    run: (call, { options: { tenant } }) =>
      call("webhooks.waiting_deliveries", tenant === undefined ? {} : { tenant_id: Number(tenant) }),
  },
  jobs: {
    usage: "jobs",
    description: "Durable jobs of all services, the next one due first",
    words: { "--state": jobStates },
    async run(call, { options: { state } }, broker) {
      // Each service sees its own; one that does not answer is named.
      const silent: string[] = [];
      const lists = await Promise.all(
        listingServices(broker).map(async (service) => {
          const answer = await call(`${service}.list_jobs`, given({ state })).catch((error: unknown) => {
            if ((error as { code?: unknown }).code === 422) throw error;
            silent.push(service);
          });
          return (answer as { items: ListedJob[] } | undefined)?.items ?? [];
        }),
      );
      const items = lists.flat().sort((a, b) => a.due_at.localeCompare(b.due_at));
      return { items, total: items.length, ...(silent.length === 0 ? {} : { silent }) };
    },
  },
};

const given = (values: Options) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

/** As self-healing's contract has them. */
const fixesOf = (call: Call) => call("self-healing.fixes", {}) as Promise<{ items: Row[] }>;

function listingServices(broker: ServiceBroker): string[] {
  // The registry's list is typed as anything; this is its documented field.
  const list = broker.registry.getActionList({ onlyAvailable: true }) as unknown as { name: string }[];
  const found = list.flatMap(({ name }) => (name.endsWith(".list_jobs") ? [name.split(".")[0] ?? ""] : []));
  return [...new Set(found)].sort();
}

/** @returns what is to be printed; it never fails */
export async function runHealingCommand(broker: ServiceBroker, name: string, typed: Typed): Promise<string> {
  const command = healingCommands[name];
  if (command === undefined) return `There is no command ${name}.`;
  const caller = new Caller({
    principal: { kind: "operator", name: userInfo().username },
    via: "repl",
    requestId: crypto.randomUUID(),
    ip: null,
    userAgent: null,
  });
  try {
    const answer = await command.run(
      (action, params) => broker.call(action, params, { meta: { caller } }),
      typed,
      broker,
    );
    if (typed.options["json"] === true) return JSON.stringify(answer, null, 2);
    return shown(onlyColumns(answer, command.columns), process.stdout.columns || widthDefault);
  } catch (error) {
    return error instanceof StartError ? error.message : errorLine(error);
  }
}

function onlyColumns(answer: unknown, columns: readonly string[] | undefined): unknown {
  const { items, total } = answer as { items?: Row[]; total?: number };
  if (columns === undefined || items === undefined) return answer;
  const rows = items.map((row) => Object.fromEntries(columns.map((name) => [name, row[name]])));
  return { items: rows, total: total ?? rows.length };
}

/** The same as Moleculer's REPL takes commands. */
export const healingReplCommands = Object.entries(healingCommands).map(
  ([name, { usage, description, words }]) => ({
    command: usage,
    description,
    options: [
      ...Object.entries(words ?? {}).flatMap(([option, choices]) =>
        option === ""
          ? []
          : [
              {
                option: `${option} <${option.slice(2)}>`,
                description: choices.length === 0 ? "of this one alone" : choices.slice(0, 6).join(", "),
              },
            ],
      ),
      { option: "--json", description: "as JSON" },
    ],
    async action(broker: ServiceBroker, typed: unknown): Promise<void> {
      // Moleculer's REPL gives the parsed words and options, whatever its declaration says.
      process.stdout.write(`${await runHealingCommand(broker, name, typed as Typed)}\n`);
    },
  }),
);

/** What TAB offers behind one of these commands; undefined: it is none of them. */
export function healingCompletion(line: string): [string[], string] | undefined {
  const [, name = "", rest = ""] = /^\s*(\S+)\s(.*)$/.exec(line) ?? [];
  const command = Object.hasOwn(healingCommands, name) ? healingCommands[name] : undefined;
  if (command === undefined) return undefined;
  const words = command.words ?? {};
  const typed = rest.split(/\s+/);
  const last = typed.at(-1) ?? "";
  const before = typed.slice(0, -1);
  const behind = words[before.at(-1) ?? " "];
  const options = [...Object.keys(words).filter((option) => option !== ""), "--json"];
  const isWordGiven = before.some((word) => word !== "" && !word.startsWith("--"));
  const free = isWordGiven ? [] : (words[""] ?? []);
  const offered = behind ?? [...free, ...options.filter((option) => !before.includes(option))];
  return [offered.filter((each) => each.startsWith(last)).map((each) => `${each} `), last];
}
