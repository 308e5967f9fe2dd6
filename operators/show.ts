// Prints answers for people: lists as tables, objects as names and values, errors as one line.
import { inspect } from "node:util";

const cellCharsMax = 40;
const gap = "  ";

/** @param width of the terminal in characters; columns that do not fit are named below the table */
export function shown(answer: unknown, width: number): string {
  if (answer === null || answer === undefined) return "Done.";
  if (typeof answer !== "object") return plain(answer);
  if (Array.isArray(answer)) return table(answer, width);
  const { items, ...rest } = answer as { items?: unknown };
  if (!Array.isArray(items)) return named(answer);
  const about = Object.entries(rest).map(([name, value]) => `${name} ${cell(value)}`);
  return [table(items, width), about.join(", ")].filter((part) => part !== "").join("\n");
}

/** @returns `404 not_found: User not found`, followed by each failure of a validation */
export function errorLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, type, data } = error as Error & { code?: unknown; type?: unknown; data?: unknown };
  const failures = (data as { failures?: { loc: string[]; msg: string }[] } | undefined)?.failures ?? [];
  const each = failures.map(({ loc, msg }) => `${loc.slice(1).join(".") || loc.join(".")}: ${msg}`);
  const facts = [code, type]
    .filter((fact) => fact !== undefined && fact !== null)
    .map(plain)
    .join(" ");
  const text = plain([error.message.split("\n")[0], ...each].join("; "));
  return facts === "" ? text : `${facts}: ${text}`;
}

function table(rows: readonly unknown[], width: number): string {
  const [first] = rows;
  if (first === undefined) return "None.";
  if (typeof first !== "object" || first === null) return rows.map(cell).join("\n");
  const names = Object.keys(first);
  const lines = [
    names,
    ...rows.map((row) => names.map((name) => cell((row as Record<string, unknown>)[name]))),
  ];
  const widths = names.map((_name, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  let used = 0;
  const fits = widths.filter((each) => (used += each + gap.length) <= width).length;
  const columns = Math.max(1, fits);
  const text = lines.map((line) =>
    line
      .slice(0, columns)
      .map((word, at) => word.padEnd(widths[at] ?? 0))
      .join(gap)
      .trimEnd(),
  );
  if (columns < names.length)
    text.push(`(--json shows the other columns too: ${names.slice(columns).join(", ")})`);
  return text.join("\n");
}

function named(answer: object): string {
  const entries = Object.entries(answer);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries
    .map(([name, value]) => {
      const text = typeof value === "object" && value !== null ? inspect(value, { depth: 6 }) : plain(value);
      return `${name.padEnd(width)}${gap}${text}`;
    })
    .join("\n");
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const line = plain(value);
  return line.length > cellCharsMax ? `${line.slice(0, cellCharsMax - 1)}…` : line;
}

/** One line, without control characters for the terminal. */
function plain(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.replace(/\p{Cc}/gu, " ");
}
