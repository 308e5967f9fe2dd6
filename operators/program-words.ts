// What an operator says to the program itself, beside the command: who it is, and whether a service runs.
import { operatorNameForm } from "../services/shared/operator.ts";
import { Misuse } from "./failures.ts";

export interface ProgramWords {
  as: string | undefined;
  alone: boolean;
  /** All others. */
  words: readonly string[];
}

/** @throws Misuse of a name that is none */
export function readProgramWords(args: readonly string[]): ProgramWords {
  const words: string[] = [];
  let as: string | undefined;
  let alone = false;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--alone") alone = true;
    else if (word === "--as") as = args[++at] ?? "";
    else if (word.startsWith("--as=")) as = word.slice("--as=".length);
    else words.push(word);
  }
  if (as !== undefined && !operatorNameForm.test(as))
    throw new Misuse("--as takes a name of 1 to 64 letters, digits, dots, dashes, underscores or @.");
  return { as, alone, words };
}
