// The one table of operators' commands: what an entry must be, and that the docs have it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { type ActionName, contracts, routes } from "../../../services/api-gateway/routes.ts";
import { commands } from "../../../operators/commands/table.ts";
import { exitMeanings } from "../../../operators/failures.ts";
import { helpOf } from "../../../operators/help.ts";
import { readRequest } from "../../../operators/request.ts";
import type { ActionContract } from "../../../services/shared/bus/bus.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/operate.md"), "utf8");
const contractOf = (name: ActionName): ActionContract => contracts[name];

it("names are told apart, and none hides another", () => {
  const names = commands.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-z]+(?: [a-z]+)?$/);
});

describe.each(commands.map((each) => [each.name, each] as const))("%s", (name, command) => {
  it("says in its entry what its contracts say", () => {
    const called = command.calls.map(contractOf);
    // What is not marked as reading changes something, and needs a name.
    const changes = called.filter(({ repeatable }) => repeatable !== true).map(({ audits }) => audits);
    const onlyAsks = ["backup plan", "deliveries"].includes(name);
    if (command.takesAll !== true) expect(command.mayChange).toBe(changes.length > 0 && !onlyAsks);
    for (const { access } of called)
      expect(access.who === "roles" && access.roles.includes("superadmin")).toBe(true);
  });

  it("has its help, with each argument", () => {
    expect(readRequest([...name.split(" "), "--help"]).prepared).toBeUndefined();
    const help = helpOf(command);
    expect(help).toContain(`Use: ${name}`);
    for (const field of Object.keys(command.fields)) expect(help).toContain(field);
    expect(Object.keys(command.fields)).toEqual(expect.arrayContaining([...command.places]));
  });
});

it("what deletes is marked, and warns", () => {
  const removing = routes.filter(({ method }) => method === "DELETE").map(({ action }) => action);
  const destroys = (action: string) =>
    commands
      .filter(({ calls }) => calls.some((each) => each === action))
      .every((each) => each.destroys === action);
  for (const action of [...removing, "backups.remove", "crypto.destroy_key"])
    expect(destroys(action)).toBe(true);
  const marked = commands.filter((each) => each.destroys !== undefined).map(({ name }) => name);
  expect(marked).toEqual([
    "tenants delete",
    "users delete",
    "keys destroy",
    "backup restore",
    "backup delete",
    "fixes delete",
  ]);
});

it("by `call` no route deletes without being asked either", () => {
  for (const { action } of routes.filter(({ method }) => method === "DELETE"))
    expect(readRequest(["call", action]).prepared?.warning).toBeDefined();
  expect(readRequest(["call", "crypto.destroy_key"]).prepared?.warning).toBeDefined();
  expect(readRequest(["call", "users.remove", "--help"]).prepared?.warning).toBeUndefined();
  expect(readRequest(["call", "users.block"]).prepared?.warning).toBeUndefined();
});

it("stands in docs/operate.md, with the exit codes", () => {
  const cell = (text: string) => text.replaceAll("|", "\\|");
  const row = ({ name, does, calls, destroys, mayChange }: (typeof commands)[number]) => {
    const kind = destroys !== undefined ? "destroys" : mayChange ? "changes" : "reads";
    return `| \`${name}\` | ${cell(does)} | ${kind} | ${calls.map((each) => `\`${each}\``).join(", ")} |`;
  };
  const rows = page
    .split("\n")
    .filter((line) => /^\| `[a-z ]+` \| .* \| (?:reads|changes|destroys) \|/.test(line));
  expect(rows).toEqual(commands.map(row));
  for (const [code, meaning] of exitMeanings) expect(page).toContain(`| ${code} | ${meaning} |`);
});
