/** The types that handlers and callers get from declared parameters; the compiler does the checking. */
import { describe, expect, it } from "@jest/globals";
import { compileParams } from "../../../../../services/shared/params/compile.ts";
import {
  custom,
  emptyIsAbsent,
  emptyIsNull,
  nullable,
  optional,
  withDefault,
} from "../../../../../services/shared/params/modifiers.ts";
import { json, object, timestamp } from "../../../../../services/shared/params/results.ts";
import {
  dateOrTime,
  dictionary,
  email,
  flag,
  id,
  integer,
  listOf,
  type Moment,
  oneOf,
  pathId,
  text,
} from "../../../../../services/shared/params/rules.ts";
import type { InputOf, ParamsOf, Rule, ValueOf } from "../../../../../services/shared/params/types.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only where the two types are the same. */
function same<A, B>(...proof: Equal<A, B> extends true ? [] : ["the types differ", A, B]): void {
  expect(proof).toEqual([]);
}

const places = {
  path: { user_id: pathId() },
  query: {
    page: emptyIsAbsent(integer({ min: 1, default: 1 })),
    search: optional(emptyIsNull(text())),
    from_date: optional(dateOrTime()),
  },
  body: {
    email: email(),
    role: oneOf(["nurse", "doctor"]),
    department_id: optional(nullable(id())),
    is_active: withDefault(flag(), true),
    tags: listOf(oneOf(["a", "b"])),
    settings: optional(dictionary({ maxBytes: 10, maxDepth: 2 })),
  },
};

interface Params {
  user_id: number;
  page: number;
  search?: string | null;
  from_date?: Moment;
  email: string;
  role: "nurse" | "doctor";
  department_id?: number | null;
  is_active: boolean;
  tags: ("a" | "b")[];
  settings?: Record<string, unknown>;
}

interface Input {
  user_id: number;
  page?: number | null;
  search?: string | null;
  from_date?: string;
  email: string;
  role: "nurse" | "doctor";
  department_id?: number | null;
  is_active?: boolean;
  tags: ("a" | "b")[];
  settings?: Record<string, unknown>;
}

type Plain<T> = { [K in keyof T]: T[K] };

describe("types", () => {
  it("of handlers and callers follow the declaration", () => {
    same<ParamsOf<typeof places>, Plain<Params>>();
    same<InputOf<typeof places>, Plain<Input>>();
    // @ts-expect-error a required key may not be absent
    const input: InputOf<typeof places> = { user_id: 1, email: "a@b.co", role: "nurse" };
    expect(input).not.toHaveProperty("tags");
  });

  it("of parameters without any are an empty object", () => {
    same<ParamsOf<object>, {}>();
    same<InputOf<{ access: string }>, {}>();
  });

  it("of single rules", () => {
    same<ValueOf<ReturnType<typeof email>>, string>();
    same<ValueOf<ReturnType<typeof nullable<number, "required", number>>>, number | null>();
    const checked = custom(oneOf(["a", "b"]), (word) => {
      same<typeof word, "a" | "b">();
      return undefined;
    });
    same<ValueOf<typeof checked>, "a" | "b">();
    const list = listOf(nullable(id()));
    same<ValueOf<typeof list>, (number | null)[]>();
  });

  it("of results are read off the rule", () => {
    const user = object({ id: id(), name: optional(text()), at: timestamp(), more: json<{ a: 1 }>() });
    same<ValueOf<typeof user>, { id: number; at: string; more: { a: 1 }; name?: string }>();
    type Inferred = typeof user extends Rule<infer T> ? T : never;
    const value: Inferred = { id: 1, at: "", more: { a: 1 } };
    expect(value.id).toBe(1);
  });

  it("of a compiled check are those of the handler", () => {
    const checked = compileParams(places)({});
    if ("params" in checked) same<typeof checked.params, ParamsOf<typeof places>>();
    expect(checked).toHaveProperty("failures");
  });

  it("a default has the rule's type", () => {
    // @ts-expect-error text is no default of a number
    expect(withDefault(integer(), "1")).toBeDefined();
    // @ts-expect-error an unknown word is no default of words
    expect(withDefault(oneOf(["asc", "desc"]), "up")).toBeDefined();
  });
});
