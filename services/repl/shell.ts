// Moleculer's REPL, with `call` told for people and completed by parameters. Nothing that is typed is kept: lines hold
// passwords, names and keys.
import { createRequire } from "node:module";
import type { ServiceBroker } from "moleculer";
import type { CompleterResult } from "node:readline";
import type { ReplOptions, REPLServer } from "node:repl";
import { backupReplCommand } from "../backup-commands.ts";
import { healingCompletion, healingReplCommands } from "../healing-commands.ts";
import { logLevelCommand } from "./log-level-command.ts";
import { errorLine, shown } from "./show.ts";
import { readTyped, wordsOf } from "./words.ts";

const widthDefault = 100;

type Kinds = Readonly<Record<string, string>>;
type Start = (options: ReplOptions) => REPLServer;

const require = createRequire(import.meta.url);

/** @returns the shell; its `exit` ends the program, as Moleculer's does */
export function openShell(broker: ServiceBroker): REPLServer {
  // Moleculer's REPL starts Node's with options of its own and opens a history file; both pass through here.
  const repl: { start: Start } = require("node:repl");
  const { start } = repl;
  repl.start = (options) => {
    const { completer } = options;
    const shell = start({
      ...options,
      preview: false,
      completer: (line: string): CompleterResult =>
        ownCompletion(broker, line) ??
        healingCompletion(line) ??
        (completer as (line: string) => CompleterResult)(line),
      eval(line, context, file, done) {
        const words = wordsOf(line);
        if (words[0] !== "call") return options.eval?.call(this, line, context, file, done);
        void call(broker, words.slice(1)).then((text) => {
          process.stdout.write(`${text}\n`);
          // With one argument nothing further is printed.
          (done as (error: null) => void)(null);
        });
      },
    });
    shell.setupHistory = (_place: unknown, ready?: unknown) => {
      if (typeof ready === "function") ready(null, shell);
    };
    return shell;
  };
  try {
    return require("moleculer-repl")(broker, {
      customCommands: [backupReplCommand, ...healingReplCommands, logLevelCommand],
      delimiter: "records $",
    });
  } finally {
    repl.start = start;
  }
}

/** @returns what is to be printed; it never fails */
export async function call(broker: ServiceBroker, words: readonly string[]): Promise<string> {
  try {
    const kinds = kindsOf(broker, words[0] ?? "");
    const { action, params, help, json } = readTyped(words, kinds ?? {});
    if (action === "" || help) return usage(action, kinds);
    const answer: unknown = await broker.call(action, params);
    return json
      ? JSON.stringify(answer ?? null, null, 2)
      : shown(answer, process.stdout.columns || widthDefault);
  } catch (error) {
    return errorLine(error);
  }
}

function usage(action: string, kinds: Kinds | undefined): string {
  if (action === "")
    return "call <action> [--<parameter> <value> …] [--json]; `actions` lists them, TAB completes.";
  if (kinds === undefined) return `There is no action ${action}.`;
  const names = Object.keys(kinds);
  const width = Math.max(0, ...names.map((name) => name.length));
  const lines = names.map((name) => `  --${name.padEnd(width)}  ${kinds[name]}`);
  return [`call ${action}${names.length === 0 ? " (no parameters)" : ""}`, ...lines].join("\n");
}

/** Undefined where there is no such action. */
function kindsOf(broker: ServiceBroker, name: string): Kinds | undefined {
  // The registry's list is typed as anything; these are its documented fields.
  const list = broker.registry.getActionList({}) as unknown as {
    name: string;
    action?: { params?: Kinds };
  }[];
  const found = list.find((each) => each.name === name);
  return found && (found.action?.params ?? {});
}

/** Behind an action its parameters, but those that are there; undefined: what Moleculer would offer. */
export function ownCompletion(broker: ServiceBroker, line: string): [string[], string] | undefined {
  const [, name, rest = ""] = /^call\s+(\S+)\s(.*)$/.exec(line) ?? [];
  const kinds = name === undefined ? undefined : kindsOf(broker, name);
  if (kinds === undefined) return undefined;
  const last = rest.slice(rest.lastIndexOf(" ") + 1);
  const given = wordsOf(rest.slice(0, rest.length - last.length));
  const offered = [...Object.keys(kinds).map((each) => `--${each}`), "--json", "--help"];
  const free = offered.filter((each) => !given.includes(each) && each.startsWith(last));
  return [free.map((each) => `${each} `), last];
}
