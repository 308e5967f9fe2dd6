// What is typed at the REPL, and how answers are shown there.
import { describe, expect, it } from "@jest/globals";
import { ServiceBroker } from "moleculer";
import { complete } from "../../../operators/complete.ts";
import { Misuse } from "../../../operators/failures.ts";
import { readProgramOptions } from "../../../operators/program-options.ts";
import { readRequest } from "../../../operators/request.ts";
import { errorLine, shown } from "../../../operators/show.ts";
import { parseTypedCall, splitWords } from "../../../operators/typed-call.ts";
import { paramSummary } from "../../../services/shared/params/summary.ts";
import { nullable, optional, withDefault } from "../../../services/shared/params/modifiers.ts";
import { flag, integer, oneOf, text } from "../../../services/shared/params/rules.ts";
import { Invalid, NotFound } from "../../../services/shared/errors.ts";

describe("words", () => {
  it.each([
    ["", []],
    ["  call   users.me ", ["call", "users.me"]],
    [`--name "Ada  L." --x ''`, ["--name", "Ada  L.", "--x", ""]],
    [`'{"a": "b c"}'`, ['{"a": "b c"}']],
    [`a\\ b "c\\"d" 'e\\f'`, ["a b", 'c"d', "e\\f"]],
    ["'open to the end", ["open to the end"]],
  ])("%s", (line, words) => expect(splitWords(line)).toEqual(words));
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
    expect(parseTypedCall(["users.x", ...splitWords(line)], kinds).params).toEqual(params);
  });
  it("a flag of ours is none", () => {
    expect(parseTypedCall(splitWords("users.x --help --json"), kinds)).toEqual({
      action: "users.x",
      params: {},
      help: true,
      json: true,
      yes: false,
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

describe("a request", () => {
  it.each<[string, Record<string, unknown>]>([
    ["tenants", { name: "tenants", json: false, yes: false }],
    ["tenants delete 7 --yes --json", { name: "tenants delete", json: true, yes: true }],
    ["cache warmup 1 2 3", { name: "cache warmup" }],
    ["users --active false --role=doctor", { name: "users" }],
    ["rotation start --detach --json", { name: "rotation start", json: true }],
    ["call users.list --tenant_id 2 --json", { name: "call", json: true }],
  ])("%s", (line, { name, ...more }) => {
    const { command, ...request } = readRequest(splitWords(line));
    expect(command.name).toBe(name);
    expect(request).toMatchObject({ ...more, prepared: expect.anything() });
  });

  it.each([
    ["", /^There is no command /],
    ["nonsense 5", /^There is no command nonsense: `help` lists them\.$/],
    ["backup", /^There is no command backup: there are backup create, backup list, /],
    ["backup kreate", /^There is no command backup kreate: there are backup create, /],
    ["tenants kreate", /^tenants: nothing is known of `kreate`\. Use: tenants$/],
    ["tenants create north", /^tenants create: name: Field required\./],
    ["tenants create a 'North Clinic'", /^tenants create: subdomain: Value error, /],
    ["block", /^block: user: Field required\. `block --help` says more\.$/],
    ["block ada", /^block: user: Input should be a valid integer/],
    ["block 0", /^block: user: Input should be greater than or equal to 1/],
    ["users --limit", /^users: a value is missing behind --limit\.$/],
    ["users --limit 0", /^users: limit: Input should be greater/],
    ["users --colour red", /^users: there is no option --colour; there are --tenant, --search, /],
    ["users --__proto__ x", /^users: there is no option --__proto__;/],
    ["jobs --state none", /^jobs: state: Input should be 'waiting', 'running', 'failing' or 'failed'/],
    ["call", /^call: name an action/],
    ["call --yes", /^call: name an action/],
  ])("%s is refused before anything is asked for", (line, sentence) => {
    expect(() => readRequest(splitWords(line))).toThrow(Misuse);
    expect(() => readRequest(splitWords(line))).toThrow(sentence);
  });

  it("what is said to the program stands anywhere", () => {
    const words = ["block", "--as", "ada", "5", "--alone", "--json"];
    expect(readProgramOptions(words)).toEqual({ as: "ada", alone: true, words: ["block", "5", "--json"] });
    expect(readProgramOptions(["--as=grace"])).toEqual({ as: "grace", alone: false, words: [] });
    for (const name of ["", "a b", "x".repeat(65), "a\nb"])
      expect(() => readProgramOptions(["--as", name])).toThrow(Misuse);
  });
});

describe("TAB", () => {
  // It knows no action, as no service is there.
  const broker = new ServiceBroker({ logger: false });
  it.each<[string, string[]]>([
    ["rot", ["rotation "]],
    ["backup st", ["status "]],
    ["health ", ["--json ", "--help "]],
    ["incidents ", ["--status ", "--code ", "--page ", "--json ", "--help "]],
    ["incidents --status ", ["open ", "healing ", "healed ", "failed ", "ended ", "dismissed "]],
    ["incidents --status open --j", ["--json "]],
    ["fixes --status p", ["proposed "]],
    ["confirm backup_o", ["backup_overdue ", "backup_object_missing "]],
    // What has no remedy cannot be confirmed.
    ["confirm certificate", []],
    ["confirm backup_overdue ", ["--json ", "--help "]],
    ["jobs --state fail", ["failing ", "failed "]],
    ["deliveries --tenant ", []],
    ["users role 5 head", ["head_doctor "]],
    ["users role 5 --json nur", ["nurse "]],
    ["tenants delete 5 --y", ["--yes "]],
    ["cache invalidate --all ", ["--patient ", "--json ", "--help "]],
    ["call ", []],
  ])("%s", (line, offered) => expect(complete(broker, line)[0]).toEqual(offered));

  it("offers every first word, and those of the shell", () => {
    const [offered] = complete(broker, "", ["actions"]);
    expect(offered).toEqual(expect.arrayContaining(["health ", "tenants ", "backup ", "call ", "actions "]));
    expect(new Set(offered).size).toBe(offered.length);
  });
});
