// The catalogue as docs/self-healing.md shows it; a test compares.
import { catalogue } from "./catalogue.ts";

export function faultsTable(): string {
  const rows = catalogue.map(
    ({ code, title, problem, remedy, never, risk, everyMinutes }) =>
      `| \`${code}\`<br>${title} | ${problem} | ${remedy ?? "Nothing: a person is told."} | ${never} | ${risk} | ${everyMinutes} min |`,
  );
  return [
    "| Fault | What is noticed | What is done | What is never done | Risk | Looked for each |",
    "|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}
