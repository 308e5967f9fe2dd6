// What a test measured, as a table that can be pasted into the docs.

/** @param lines with the same names each */
export function markdownTable(lines: readonly Readonly<Record<string, string | number>>[]): string {
  const names = Object.keys(lines[0] ?? {});
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;
  return [
    line(names),
    line(names.map(() => "---")),
    ...lines.map((each) => line(names.map((name) => each[name] ?? ""))),
  ].join("\n");
}
