// Runs one command: checks permissions, asks for confirmation, calls, prints, and returns the exit code.
import type { ServiceBroker } from "moleculer";
import type { Warning } from "./command.ts";
import {
  errorDocument,
  type ExitCode,
  exitCodeOf,
  exitCodes,
  LeftAlone,
  Misuse,
  Refusal,
  sentenceOf,
} from "./failures.ts";
import { helpOf } from "./help.ts";
import type { ServiceConnection } from "./service-connection.ts";
import type { Request } from "./request.ts";
import { Session } from "./session.ts";
import { progressOn } from "./show-progress.ts";
import { shown } from "./show.ts";

/** The terminal, or what stands in for it. */
export interface Screen {
  /** Writes answers and nothing else. */
  out(text: string): void;
  err(text: string): void;
  width: number;
  /** The stream for the progress of long work. */
  stream: NodeJS.WriteStream;
  /** Undefined if nobody can answer. */
  ask: ((question: string) => Promise<string>) | undefined;
  /** Fires at Ctrl-C. */
  signal: AbortSignal;
}

/** @throws Misuse if the command cannot be used like this, independent of the service */
export function assertUse(
  { command, prepared, yes }: Request,
  operator: string | undefined,
  canAsk: boolean,
  broker?: ServiceBroker,
): void {
  if (operator === undefined && prepared?.changes(broker) === true)
    throw new Misuse(
      "Changes are audited under a name, and this account says nothing of you: give yours by --as <name>, or as ACT_AS.",
    );
  if (prepared?.warning !== undefined && !yes && !canAsk)
    throw new Misuse(`${command.name} destroys something: say --yes where nobody can be asked.`);
}

/** Never rejects: an error is printed and returned as an exit code. */
export async function runRequest(
  joined: ServiceConnection,
  request: Request,
  screen: Screen,
): Promise<ExitCode> {
  const { command, prepared, json, yes } = request;
  if (prepared === undefined) {
    screen.out(helpOf(command));
    return exitCodes.done;
  }
  try {
    assertUse(request, joined.operator, screen.ask !== undefined, joined.broker);
    const session = new Session(joined, progressFor(screen, json), screen.signal);
    if (prepared.warning !== undefined && !yes) await confirm(screen, await prepared.warning(session));
    const answer = await prepared.run(session);
    screen.out(
      json
        ? JSON.stringify(answer ?? null, null, 2)
        : shown(onlyColumns(answer, command.columns), screen.width),
    );
    return command.failed?.(answer) === true ? exitCodes.failed : exitCodes.done;
  } catch (error) {
    return failed(error, screen, json);
  }
}

/** Prints the error to standard error. @returns the exit code */
export function failed(error: unknown, { err }: Pick<Screen, "err">, json: boolean): ExitCode {
  err(json ? JSON.stringify(errorDocument(error)) : sentenceOf(error));
  return exitCodeOf(error);
}

/** With --json standard error is only for errors, except on a terminal, which shows a bar. */
function progressFor({ stream }: Screen, json: boolean): ReturnType<typeof progressOn> {
  return json && !stream.isTTY ? { show: () => {}, end: () => {} } : progressOn(stream);
}

async function confirm(screen: Screen, { lines, word }: Warning): Promise<void> {
  for (const line of lines) screen.err(line);
  const typed = await screen.ask?.(`Type ${word} to go on: `);
  if (screen.signal.aborted) throw new LeftAlone("Nothing was done.");
  if (typed?.trim() !== word) throw new Refusal("That is not it: nothing was done.");
}

function onlyColumns(answer: unknown, columns: readonly string[] | undefined): unknown {
  const { items, ...rest } = (answer ?? {}) as { items?: Record<string, unknown>[] };
  if (columns === undefined || items === undefined) return answer;
  const rows = items.map((row) => Object.fromEntries(columns.map((name) => [name, row[name]])));
  return { items: rows, ...rest };
}
