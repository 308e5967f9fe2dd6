// What of a migration's SQL could break an earlier version of the program that runs beside it: something is taken away or
// renamed, or takes less than it did. Read from the text, so it errs on the side of finding something; a list entry's
// `harmless` says why it is nothing.
import { type ListedMigration } from "../../migrations/all.ts";
import { compareVersions } from "../../services/shared/database/versions.ts";

const name = String.raw`(?:if exists |if not exists |concurrently |only )*("?[\w.%]+"?)`;

/** A statement that could. `of`: the name of a table; nothing is narrowed on one that the same migration makes. */
const narrowing: readonly { what: string; pattern: RegExp; of?: boolean }[] = [
  { what: "drops a column", pattern: /\bdrop column\b/ },
  {
    what: "drops something",
    pattern: new RegExp(
      String.raw`^(?:.* )?drop (?:table|view|materialized view|sequence|type|domain|schema|extension|role|policy|rule|function|procedure|aggregate|index) ${name}`,
    ),
  },
  { what: "drops a constraint", pattern: /\bdrop constraint\b/ },
  { what: "renames", pattern: /\brename\b/ },
  { what: "moves to another schema", pattern: /\bset schema\b/ },
  { what: "changes a type", pattern: /\balter (?:column )?"?\w+"? (?:set data )?type\b/ },
  { what: "takes no nulls any more", pattern: /\balter (?:column )?"?\w+"? set not null\b/ },
  {
    what: "has no default any more",
    pattern: /\balter (?:column )?"?\w+"? drop (?:default|identity|expression)\b/,
  },
  {
    what: "adds a column that must be given",
    pattern:
      /\badd (?:column )?(?!constraint\b|check\b|primary\b|unique\b|foreign\b|exclude\b)(?![^,]*\b(?:default|generated|serial|bigserial)\b)[^,]*\b(?:not null|primary key)\b/,
  },
  {
    what: "adds a condition",
    pattern: /\badd (?:constraint|check|primary key|unique|foreign key|exclude)\b/,
  },
  {
    what: "adds a unique index",
    pattern: new RegExp(String.raw`^create unique index .*?\bon ${name}`),
    of: true,
  },
  {
    what: "adds a trigger",
    pattern: new RegExp(String.raw`^create (?:constraint )?trigger .*?\bon ${name}`),
    of: true,
  },
  {
    what: "shuts a table",
    pattern: new RegExp(String.raw`^alter table ${name} (?:enable|force) row level security`),
    of: true,
  },
  { what: "adds a restrictive policy", pattern: /^create policy .* as restrictive\b/ },
  { what: "changes a policy", pattern: /^alter policy\b/ },
  { what: "takes a right away", pattern: /\brevoke\b/ },
  { what: "replaces a function or a view", pattern: /^create or replace\b/ },
  { what: "deletes rows", pattern: /^(?:with .*)?(?:delete from|truncate)\b/ },
];

/** What the SQL narrows, each with the beginning of its statement. */
export function narrowed(sql: string): string[] {
  const statements = statementsIn(sql);
  const made = new Set(
    statements.flatMap(
      (statement) => /^create (?:unlogged )?table (?:if not exists )?("?[\w.]+"?)/.exec(statement)?.[1] ?? [],
    ),
  );
  return statements.flatMap((statement) => {
    // Whatever is done to a table that the migration itself makes concerns no earlier version.
    const altered = new RegExp(String.raw`^alter table ${name}`).exec(statement)?.[1];
    if (altered !== undefined && made.has(altered)) return [];
    return narrowing.flatMap(({ what, pattern, of = false }) => {
      const found = pattern.exec(statement);
      if (found === null || (of && made.has(found[1] ?? ""))) return [];
      return [`${what}: ${statement.slice(0, 80)}`];
    });
  });
}

/**
 * Statements in lower case, blanks made one: those of `do` blocks too, with what they execute; not those within functions,
 * which run later, nor comments.
 */
function statementsIn(sql: string): string[] {
  const text = sql
    .replaceAll(/--[^\n]*/g, " ")
    .replaceAll(/\/\*[\s\S]*?\*\//g, " ")
    .toLowerCase();
  // Bodies of functions begin after `as`; the others are of `do`.
  const open = text.replaceAll(/\bas\s+(\$\w*\$)[\s\S]*?\1/g, " as body");
  return (
    open
      .replaceAll(/\$\w*\$/g, ";")
      // What a block executes is a statement of its own.
      .replaceAll(/execute\s+(?:format\s*\()?\s*'/g, ";")
      .split(/;|\b(?:begin|then|loop)\b/)
      .map((statement) => statement.replaceAll(/\s+/g, " ").trim())
      .filter((statement) => statement !== "")
  );
}

export interface Judged extends Omit<ListedMigration, "class"> {
  /** All that it runs. */
  sql: string;
}

/**
 * What is wrong with what the list says of its migrations. Taking away is a release of its own: the release before it has to
 * do without already (`oldest`), and what worked beside the migrations before it need not work beside this one.
 * @param program the version of the program that has this list
 */
export function listFaults(list: readonly Judged[], program: string): string[] {
  const [first] = list;
  return list.flatMap((each, index) => {
    const faults: string[] = [];
    const previous = list[index - 1];
    if (previous !== undefined && previous.name >= each.name) faults.push("comes after a later one");
    if (compareVersions(each.since, program) > 0) faults.push(`is of a later release than ${program}`);
    if (previous !== undefined && compareVersions(each.since, previous.since) < 0)
      faults.push("is of an earlier release than the one before it");
    if (previous !== undefined && compareVersions(each.oldest, previous.oldest) < 0)
      faults.push("works beside older versions than the one before it");
    if (first === undefined || compareVersions(each.since, first.since) === 0) return told(each, faults);
    if (compareVersions(each.oldest, each.since) >= 0)
      faults.push(`works beside no release before ${each.since}: everything would have to stop for it`);
    const before = list.findLast(({ since }) => compareVersions(since, each.since) < 0);
    const what = narrowed(each.sql);
    if (before === undefined || what.length === 0 || each.harmless !== undefined) return told(each, faults);
    if (compareVersions(each.oldest, before.oldest) <= 0)
      faults.push(`still claims to work beside ${each.oldest}, but ${what.join("; ")}`);
    return told(each, faults);
  });
}

const told = (each: Judged, faults: readonly string[]) => faults.map((fault) => `${each.name} ${fault}`);
