// What tests measure, as a table of Markdown that can be pasted into the docs: each row as soon as it is known.

export class MarkdownRows {
  #isHeaded = false;

  /** @param row the same names each time */
  add(row: Readonly<Record<string, string | number>>): void {
    const line = (cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |\n`;
    const names = Object.keys(row);
    if (!this.#isHeaded) process.stdout.write(`\n${line(names)}${line(names.map(() => "---"))}`);
    this.#isHeaded = true;
    process.stdout.write(line(Object.values(row)));
  }
}
