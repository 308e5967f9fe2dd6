// Completion with TAB: commands, their options, fixed values and, after `call`, actions and their parameters.
import { actionList } from "./action-list.ts";
import type { ServiceBroker } from "moleculer";
import type { RuleShape } from "../services/shared/params/types.ts";
import type { Command } from "./command.ts";
import { knownAction } from "./commands/call.ts";
import { commands } from "./commands/table.ts";
import { commandAt } from "./request.ts";

type Offer = [offered: string[], behind: string];

/** @param others further first words that the shell accepts */
export function complete(broker: ServiceBroker, line: string, others: readonly string[] = []): Offer {
  const words = line.trimStart().split(/\s+/);
  const last = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const found = commandAt(before);
  const offered = [
    ...nextWords(before),
    ...(before.length === 0 ? others : []),
    ...(found === undefined ? [] : completionsAfter(broker, found.command, found.rest)),
  ];
  return [[...new Set(offered)].filter((each) => each.startsWith(last)).map((each) => `${each} `), last];
}

/** @returns the next words of all command names that begin with these words */
function nextWords(before: readonly string[]): string[] {
  const begin = before.map((word) => `${word} `).join("");
  return commands
    .filter(({ name }) => name.startsWith(begin))
    .map(({ name }) => name.slice(begin.length).split(" ")[0] ?? "");
}

function completionsAfter(broker: ServiceBroker, command: Command, typed: readonly string[]): string[] {
  if (command.takesAll === true) return completionsOfCall(broker, typed);
  const { fields, places } = command;
  const previous = typed.at(-1) ?? "";
  const asked = previous.startsWith("--") ? fields[previous.slice(2)] : undefined;
  if (asked !== undefined && asked.type !== "flag") return choices(asked);
  const standing = typed.filter((word, at) => !word.startsWith("--") && !isValue(fields, typed[at - 1]));
  const place = places[standing.length];
  const options = Object.keys(fields)
    .filter((name) => !places.includes(name))
    .map((name) => `--${name}`);
  const confirming = command.destroys === undefined ? [] : ["--yes"];
  return [
    ...(place === undefined ? [] : choices(fields[place])),
    ...[...options, ...confirming, "--json", "--help"].filter((option) => !typed.includes(option)),
  ];
}

const isValue = (fields: Command["fields"], option = "") =>
  option.startsWith("--") && (fields[option.slice(2)]?.type ?? "flag") !== "flag";

const choices = (field: RuleShape | undefined): string[] =>
  field?.type === "oneOf" ? [...field.values] : [];

function completionsOfCall(broker: ServiceBroker, typed: readonly string[]): string[] {
  const [action] = typed;
  if (action === undefined) {
    return actionList(broker)
      .map(({ name }) => name)
      .sort();
  }
  const options = Object.keys(knownAction(broker, action)?.kinds ?? {}).map((name) => `--${name}`);
  return [...options, "--json", "--help"].filter((option) => !typed.includes(option));
}
