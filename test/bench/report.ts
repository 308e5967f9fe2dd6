// What the bench prints: a table per part, and at the end every target with what was reached.
import { cpuOf, medians, type Sample } from "./measure.ts";

export interface Verdict {
  claim: string;
  measured: number;
  sense: "at least" | "at most";
  bound: number;
  unit: "×" | "MB" | "s" | "%";
}

const verdicts: Verdict[] = [];
let meaning = true;

/** For the smallest form, whose figures say nothing: they are printed, but not held against their bounds. */
export function dropVerdicts(): void {
  meaning = false;
}

export function say(line = ""): void {
  process.stdout.write(`${line}\n`);
}

const columns = [
  ["side", 26],
  ["requests/s", 12],
  ["p50 ms", 9],
  ["p99 ms", 9],
  ["CPU ms/request", 16],
  ["of it program", 15],
  ["PostgreSQL", 12],
] as const;

function row(cells: readonly string[]): void {
  say(cells.map((cell, index) => pad(cell, columns[index]?.[1] ?? 0, index === 0)).join(""));
}

const pad = (cell: string, width: number, left: boolean) =>
  left ? cell.padEnd(width) : cell.padStart(width);

export function title(text: string): void {
  say();
  say(`## ${text}`);
}

/** Medians of each side's rounds. */
export function table(sides: readonly (readonly [name: string, samples: readonly Sample[]])[]): void {
  row(columns.map(([name]) => name));
  for (const [name, samples] of sides) {
    const middle = medians(samples);
    row([
      name,
      middle.perSecond.toFixed(middle.perSecond < 100 ? 1 : 0),
      middle.p50Ms.toFixed(2),
      middle.p99Ms.toFixed(2),
      cpuOf(middle).toFixed(3),
      middle.programMs.toFixed(3),
      middle.postgresMs.toFixed(3),
    ]);
  }
}

export function judge(verdict: Verdict): void {
  verdicts.push(verdict);
  say(line(verdict));
}

function isReached({ measured, sense, bound }: Verdict): boolean {
  return sense === "at least" ? measured >= bound : measured <= bound;
}

function line(verdict: Verdict): string {
  const { claim, measured, sense, bound, unit } = verdict;
  const digits = unit === "MB" ? 0 : 2;
  const word = !meaning ? "RAN" : isReached(verdict) ? "OK" : "MISSED";
  return `${word.padEnd(7)} ${claim}: ${measured.toFixed(digits)} ${unit} (${sense} ${bound} ${unit})`;
}

/** @returns how many targets were missed */
export function summary(): number {
  title("All targets");
  for (const verdict of verdicts) say(line(verdict));
  return meaning ? verdicts.filter((verdict) => !isReached(verdict)).length : 0;
}
