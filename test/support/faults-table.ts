// The catalogue as the table in docs/self-healing.md. A test compares both.
import { catalogue } from "../../mixins/healing/catalogue.ts";

/** @returns a table in Markdown, with one row per fault */
export function faultsTable(): string {
  const rows = catalogue.map(
    ({ code, title, problem, remedy, never, risk, everyMinutes }) =>
      `| \`${code}\`<br>${title} | ${problem} | ${remedy ?? "Nothing: a person is notified."} | ${never} | ${risk} | ${everyMinutes} min |`,
  );
  return [
    "| Fault | What is noticed | What is done | What is never done | Risk | Looked for each |",
    "|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}
