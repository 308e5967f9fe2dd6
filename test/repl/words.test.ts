// What is typed at the REPL, and how answers are shown there.
import { describe, expect, it } from "@jest/globals";
import { healingCompletion } from "../../services/healing-commands.ts";
import { errorLine, shown } from "../../services/repl/show.ts";
import { readTyped, wordsOf } from "../../services/repl/words.ts";
import { paramSummary } from "../../services/shared/params/summary.ts";
import { nullable, optional, withDefault } from "../../services/shared/params/modifiers.ts";
import { flag, integer, oneOf, text } from "../../services/shared/params/rules.ts";
import { Invalid, NotFound } from "../../services/shared/errors.ts";

describe("words", () => {
  it.each([
    ["", []],
    ["  call   users.me ", ["call", "users.me"]],
    [`--name "Ada  L." --x ''`, ["--name", "Ada  L.", "--x", ""]],
    [`'{"a": "b c"}'`, ['{"a": "b c"}']],
    [`a\\ b "c\\"d" 'e\\f'`, ["a b", 'c"d', "e\\f"]],
    ["'open to the end", ["open to the end"]],
  ])("%s", (line, words) => expect(wordsOf(line)).toEqual(words));
});

describe("parameters", () => {
  const kinds = paramSummary({
    path: { user_id: integer() },
    query: { role: optional(oneOf(["doctor", "nurse"])), page: withDefault(integer(), 1) },
    body: { name: text(), department_id: nullable(integer()), all: optional(flag()) },
  });
  it("are shown in a word each", () => {
    expect(kinds).toEqual({
      user_id: "integer",
      role: "doctor | nurse, optional",
      page: "integer, else 1",
      name: "text",
      department_id: "integer, or null",
      all: "true | false, optional",
    });
  });
  it.each<[string, Record<string, unknown>]>([
    ["--user_id 7 --name 0042", { user_id: 7, name: "0042" }],
    ["--user_id=7 --name=a=b", { user_id: 7, name: "a=b" }],
    ["--department_id null --all", { department_id: null, all: true }],
    ["--all false --name --user_id 1", { all: false, name: "true", user_id: 1 }],
    [`'{"user_id": 7, "name": null}'`, { user_id: 7, name: null }],
    // What is no number is left to the action's own check.
    ["--user_id seven", { user_id: "seven" }],
    ["--unknown 5", { unknown: "5" }],
  ])("%s", (line, params) => {
    expect(readTyped(["users.x", ...wordsOf(line)], kinds).params).toEqual(params);
  });
  it("a flag of ours is none", () => {
    expect(readTyped(wordsOf("users.x --help --json"), kinds)).toEqual({
      action: "users.x",
      params: {},
      help: true,
      json: true,
    });
  });
});

describe("answers", () => {
  const items = [
    { id: 1, name: "Ada\nLovelace", settings: { a: 1 }, gone: null },
    { id: 22, name: "B", settings: {}, gone: "x".repeat(60) },
  ];
  it("a list is a table, with what else was said below", () => {
    expect(shown({ items, total: 2 }, 200).split("\n")).toEqual([
      `id  name          settings  gone`,
      `1   Ada Lovelace  {"a":1}`,
      `22  B             {}        ${"x".repeat(39)}…`,
      "total 2",
    ]);
  });
  it("columns beyond the terminal's width are named", () => {
    expect(shown(items, 20).split("\n")).toEqual([
      "id  name",
      "1   Ada Lovelace",
      "22  B",
      "(--json shows the other columns too: settings, gone)",
    ]);
  });
  it.each([
    [[], "None."],
    [{ items: [] }, "None."],
    [undefined, "Done."],
    [{ ok: true, seq: 5 }, "ok   true\nseq  5"],
  ])("%j", (answer, text) => expect(shown(answer, 80)).toBe(text));
  it("an error is one line with its code", () => {
    expect(errorLine(new NotFound("User"))).toBe("404 not_found: User not found");
    expect(errorLine(Invalid.body("name", "is bad"))).toBe(
      "422 validation_error: Validation error; name: Value error, is bad",
    );
    expect(errorLine(new Error("first\nsecond"))).toBe("first");
  });
});

describe("TAB behind a command", () => {
  it.each<[string, string[] | undefined]>([
    ["call x", undefined],
    ["health ", ["--json "]],
    ["incidents ", ["--status ", "--code ", "--json "]],
    ["incidents --status ", ["open ", "healing ", "healed ", "failed ", "ended ", "dismissed "]],
    ["incidents --status open --j", ["--json "]],
    ["fixes --status p", ["proposed "]],
    ["confirm backup_o", ["backup_overdue ", "backup_object_missing "]],
    // What has no remedy cannot be confirmed.
    ["confirm certificate", []],
    ["confirm backup_overdue ", ["--json "]],
    ["jobs --state fail", ["failing ", "failed "]],
    ["deliveries --tenant ", []],
  ])("%s", (line, offered) => expect(healingCompletion(line)?.[0]).toEqual(offered));
});
