// Options of the program itself, apart from the command: the operator's name, and whether to run without a service.
import { operatorNameForm } from "../services/shared/operator.ts";
import { Misuse } from "./failures.ts";

export interface ProgramOptions {
  as: string | undefined;
  alone: boolean;
  /** All other words. */
  words: readonly string[];
}

/** @throws Misuse for an invalid name */
export function readProgramOptions(args: readonly string[]): ProgramOptions {
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
