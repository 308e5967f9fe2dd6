// What initdb and postgres say on stderr: handed on line by line, the last lines kept to explain why one ended.

import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { StartError } from "../../services/shared/start-error.ts";

const linesMax = 20;
const lineCharactersMax = 500;

/** The last lines of a program's stderr, oldest first; grows while the program runs. */
export function outputTail(stream: Readable | null, log: (line: string) => void): readonly string[] {
  const tail: string[] = [];
  if (!stream) return tail;
  // A reset of the pipe is no news: the program's end is reported by itself.
  stream.on("error", () => undefined);
  createInterface({ input: stream }).on("line", (line) => {
    const text = line.slice(0, lineCharactersMax);
    tail.push(text);
    if (tail.length > linesMax) tail.shift();
    log(text);
  });
  return tail;
}

/** One sentence on why `program` ended: it never ran, the disk, the first fatal line, else `ending` and the last line. */
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
  // "the database system is starting up" only answers a client that came too early.
  const fatal = tail.find(
    (line) => /(?:FATAL|PANIC|error):/.test(line) && !/: +the database system is/.test(line),
  );
  const reason = (fatal ?? tail.at(-1))?.replace(/^.*?(?:FATAL|PANIC|error):\s*/, "").trim();
  return new StartError(
    `The embedded PostgreSQL cannot start (${program}, ${ending})${reason ? `: ${reason}` : ""}.`,
  );
}
