// The stderr of initdb and postgres: passed on line by line. The last lines are kept to explain why the program ended.

import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { StartError } from "../../services/shared/start-error.ts";

const linesMax = 20;
const lineCharactersMax = 500;

/** @returns the last lines of a program's stderr, oldest first; the list grows while the program runs */
export function outputTail(stream: Readable | null, log: (line: string) => void): readonly string[] {
  const tail: string[] = [];
  if (!stream) return tail;
  // An error of the pipe is ignored: the end of the program is reported separately.
  stream.on("error", () => undefined);
  createInterface({ input: stream }).on("line", (line) => {
    const text = line.slice(0, lineCharactersMax);
    tail.push(text);
    if (tail.length > linesMax) tail.shift();
    log(text);
  });
  return tail;
}

/**
 * @returns one sentence on why `program` ended: it never ran, the disk, the first fatal line, otherwise `ending` and the last
 * line
 */
export function explainExit(program: string, ending: string, tail: readonly string[]): StartError {
  if (ending.startsWith("spawn ")) {
    return new StartError(
      `The embedded PostgreSQL does not run on this machine (${ending}): set DATABASE_URL to a PostgreSQL 18 server.`,
    );
  }
  const text = tail.join("\n");
  if (/No space left on device|Disk quota exceeded/.test(text)) {
    return new StartError("The embedded PostgreSQL cannot start: the disk that holds DATA_DIR is full.");
  }
  // "the database system is starting up" is only the answer to a client that connected too early.
  const fatal = tail.find(
    (line) => /(?:FATAL|PANIC|error):/.test(line) && !/: +the database system is/.test(line),
  );
  const reason = (fatal ?? tail.at(-1))?.replace(/^.*?(?:FATAL|PANIC|error):\s*/, "").trim();
  return new StartError(
    `The embedded PostgreSQL cannot start (${program}, ${ending})${reason ? `: ${reason}` : ""}.`,
  );
}
