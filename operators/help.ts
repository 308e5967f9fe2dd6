// Help: the list of commands, and the help of one command.
import { paramSummary } from "../services/shared/params/summary.ts";
import type { Command } from "./command.ts";
import { commands } from "./commands/table.ts";
import { exitMeanings } from "./failures.ts";
import { usageOf } from "./request.ts";

const wrap = (rows: readonly (readonly [string, string])[]) => {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`);
};

/** @returns all commands, one per line */
export function overview(): string {
  return wrap(commands.map(({ name, does }) => [name, does])).join("\n");
}

/** @param own further options of the program */
export function helpOf(command: Command, own: readonly (readonly [string, string])[] = []): string {
  const { fields, does, calls, destroys, mayChange } = command;
  const kinds = paramSummary({ query: fields });
  const rows = Object.entries(fields).map(([name, { description }]): [string, string] => [
    command.places.includes(name) ? name : `--${name}`,
    [description?.replace(/\.$/, ""), kinds[name]].filter((part) => part !== undefined).join("; "),
  ]);
  const common: [string, string][] = [
    ...(destroys === undefined ? [] : [["--yes", "Does not ask before it destroys"] as [string, string]]),
    ["--json", "Answers one JSON document"],
  ];
  return [
    usageOf(command),
    `${does}.`,
    ...wrap([...rows, ...common, ...own]),
    ...(calls.length === 0 ? [] : [`It calls ${calls.join(", ")}.`]),
    ...(mayChange ? ["What it changes is audited under your name."] : []),
  ].join("\n");
}

/** @returns the exit codes with their meanings */
export function exitHelp(): string {
  return wrap(exitMeanings.map(([code, meaning]) => [String(code), meaning])).join("\n");
}
