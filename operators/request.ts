// Parses typed words into a command with its arguments: the same for the REPL and the command line.
import type { RuleShape } from "../services/shared/params/types.ts";
import type { Command, Prepared } from "./command.ts";
import { commands } from "./commands/table.ts";
import { Misuse } from "./failures.ts";

export interface Request {
  command: Command;
  /** Absent if only help is wanted. */
  prepared: Prepared | undefined;
  json: boolean;
  yes: boolean;
}

const common = ["--json", "--yes", "--help"] as const;

/** @returns the command with the longest name with which the words begin */
export function commandAt(
  words: readonly string[],
): { command: Command; rest: readonly string[] } | undefined {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(" ");
    const found = words.length >= length ? commands.find((each) => each.name === name) : undefined;
    if (found !== undefined) return { command: found, rest: words.slice(length) };
  }
  return undefined;
}

/** @throws Misuse that names the fault */
export function readRequest(words: readonly string[]): Request {
  const found = commandAt(words);
  if (found === undefined) throw new Misuse(noCommand(words));
  const { command, rest } = found;
  const [json, yes, asksHelp] = common.map((option) => rest.includes(option));
  const answer = { command, json: json === true, yes: yes === true };
  // Only the service knows the parameters of an action.
  const isOfAction = command.takesAll === true && rest.some((word) => !word.startsWith("--"));
  if (asksHelp === true && !isOfAction) return { ...answer, prepared: undefined };
  const given = command.takesAll === true ? { words: rest } : argumentsOf(command, rest);
  return { ...answer, prepared: command.prepare(given) };
}

function noCommand(words: readonly string[]): string {
  const [group = ""] = words;
  const members = commands.filter(({ name }) => name.startsWith(`${group} `)).map(({ name }) => name);
  return members.length === 0
    ? `There is no command ${group}: \`help\` lists them.`
    : `There is no command ${words.slice(0, 2).join(" ")}: there are ${members.join(", ")}.`;
}

function argumentsOf(command: Command, words: readonly string[]): Record<string, unknown> {
  const { name, fields, places } = command;
  const given: Record<string, unknown> = {};
  const standing: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (common.some((option) => option === word)) continue;
    if (!word.startsWith("--")) {
      standing.push(word);
      continue;
    }
    const [option = "", ...text] = word.slice(2).split("=");
    const field = Object.hasOwn(fields, option) ? fields[option] : undefined;
    if (field === undefined) throw new Misuse(unknownOption(command, word));
    if (text.length > 0) given[option] = text.join("=");
    else if (field.type === "flag" && !/^(?:true|false)$/.test(words[at + 1] ?? "")) given[option] = true;
    else if (at + 1 < words.length) given[option] = words[++at];
    else throw new Misuse(`${name}: a value is missing behind --${option}.`);
  }
  for (const [at, place] of places.entries()) {
    const isList = fields[place]?.type === "listOf";
    if (standing.length > at) given[place] = isList ? standing.slice(at) : standing[at];
    if (isList) return given;
  }
  if (standing.length > places.length)
    throw new Misuse(`${name}: nothing is known of \`${standing[places.length]}\`. ${usageOf(command)}`);
  return given;
}

function unknownOption({ name, fields }: Command, word: string): string {
  const options = [...Object.keys(fields).map((field) => `--${field}`), ...common];
  return `${name}: there is no option ${word.split("=")[0]}; there are ${options.join(", ")}.`;
}

/** `Use: backup restore <backup> [--detach]` */
export function usageOf({ name, fields, places, takesAll, destroys }: Command): string {
  const isNeeded = (field: RuleShape | undefined) => field?.optional !== true && field?.default === undefined;
  const standing = places.map((place) => {
    const word = fields[place]?.type === "listOf" ? `${place} …` : place;
    return isNeeded(fields[place]) ? `<${word}>` : `[${word}]`;
  });
  const options = Object.entries(fields)
    .filter(([field]) => !places.includes(field))
    .map(([field, { type }]) => `[--${field}${type === "flag" ? "" : " …"}]`);
  const rest = takesAll === true ? ["<action> [--<parameter> …]"] : [];
  const confirmed = destroys === undefined ? [] : ["[--yes]"];
  return `Use: ${[name, ...standing, ...options, ...rest, ...confirmed].join(" ")}`;
}
