// A program that reads a JSON list of [source, flags] from standard input and prints for each "linear", or why the pattern
// is not known to be. By itself, as recheck takes five times as long within Jest.
import { text } from "node:stream/consumers";

// recheck's programs for single platforms are not needed: its checker in plain JavaScript takes some seconds for all.
process.env["RECHECK_SYNC_BACKEND"] = "pure";
const { checkSync } = await import("recheck");

/** Far beyond what any pattern of ours takes; one that takes longer is too complicated to be proved, or to be read. */
const provedMsMax = 600_000;

/** By automata alone: recheck's other checker tries texts at random, which proves nothing. */
function verdictOn(source: string, flags: string): string {
  const checked = checkSync(source, flags, { checker: "automaton", timeout: provedMsMax });
  if (checked.status === "safe") return "linear";
  return checked.status === "vulnerable" ? checked.complexity.summary : checked.error.kind;
}

const patterns: [source: string, flags: string][] = JSON.parse(await text(process.stdin));
process.stdout.write(JSON.stringify(patterns.map(([source, flags]) => verdictOn(source, flags))));
