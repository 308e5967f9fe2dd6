// Help: all commands, and one of them, as the table has them.
import { paramSummary } from "../services/shared/params/summary.ts";
import type { Command } from "./command.ts";
import { commands } from "./commands/table.ts";
import { exitMeanings } from "./failures.ts";
import { usageOf } from "./request.ts";

const wrap = (rows: readonly (readonly [string, string])[]) => {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`);
};

export function overview(): string {
  return wrap(commands.map(({ name, does }) => [name, does])).join("\n");
}

/** @param own of the program that is asked, what else it takes */
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

export function exitHelp(): string {
  return wrap(exitMeanings.map(([code, meaning]) => [String(code), meaning])).join("\n");
}
