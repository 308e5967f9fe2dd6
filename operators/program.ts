// The command line: runs one command, writes its answer to standard output and everything else to standard error, and exits with
// a code.
import { createInterface } from "node:readline";
import type { Command } from "./command.ts";
import { type ExitCode, exitCodes, Misuse, Unreached } from "./failures.ts";
import { exitHelp, helpOf, overview } from "./help.ts";
import { joinService, operatorName } from "./join.ts";
import type { ServiceConnection } from "./service-connection.ts";
import { readProgramOptions } from "./program-options.ts";
import { readRequest } from "./request.ts";
import { assertUse, failed, runRequest, type Screen } from "./run-request.ts";

/** Without a terminal lines are not truncated. */
const widthDefault = 10_000;
/** A process that has just started learns the services of other nodes within this time. */
const offeredMsMax = 5_000;
const offeredEveryMs = 100;
/** After Ctrl-C a running call gets this time to end. */
const leavingMs = 1_000;

/** @returns the further options that a command has on the command line */
function ownOf({ aloneWith }: Command): [string, string][] {
  const alone: [string, string][] =
    aloneWith === undefined ? [] : [["--alone", "Does it itself, without a running service"]];
  return [["--as <name>", "Who you are; otherwise ACT_AS, or the account's name"], ...alone];
}

/** Runs the command and ends the process with its exit code. */
export async function runProgram(env: NodeJS.ProcessEnv, args: readonly string[]): Promise<never> {
  const leaving = new AbortController();
  const screen = screenOf(leaving);
  // A reader that closed the pipe wants no more output.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  process.on("SIGINT", () => leave(leaving, screen));
  let code: ExitCode;
  try {
    code = await run(env, args, screen);
  } catch (error) {
    code = failed(error, screen, args.includes("--json"));
  }
  return end(code);
}

async function run(env: NodeJS.ProcessEnv, args: readonly string[], screen: Screen): Promise<ExitCode> {
  const { as, alone, words } = readProgramOptions(args);
  const [first] = words;
  if (first === undefined || first === "help" || first === "--help") {
    const { command } = words.length > 1 ? readRequest([...words.slice(1), "--help"]) : {};
    if (first === undefined) throw new Misuse(`Name a command:\n${overview()}`);
    screen.out(command === undefined ? programHelp() : helpOf(command, ownOf(command)));
    return exitCodes.done;
  }
  const request = readRequest(words);
  const { command } = request;
  if (request.prepared === undefined) {
    screen.out(helpOf(command, ownOf(command)));
    return exitCodes.done;
  }
  const operator = operatorName(env, as);
  assertUse(request, operator, screen.ask !== undefined);
  if (alone && command.aloneWith === undefined)
    throw new Misuse(`${command.name} is of a running service: --alone is for backup commands.`);
  const onEnd = () => void end(failed(new Unreached("The service has ended."), screen, request.json));
  const joined = await joinService({ env, operator, alone: alone ? command.aloneWith : undefined, onEnd });
  try {
    await waitUntilOffered(joined, command, words);
    return await runRequest(joined, request, screen);
  } finally {
    await joined.leave();
  }
}

/** Waits until the services are known. If none appears in time, the call itself reports that. */
async function waitUntilOffered(
  { broker }: ServiceConnection,
  { calls, takesAll }: Command,
  words: readonly string[],
): Promise<void> {
  const actions = takesAll === true ? words.slice(1, 2) : calls;
  const services = [...new Set(actions.map((action) => action.split(".")[0] ?? ""))];
  if (services.length > 0)
    await broker.waitForServices(services, offeredMsMax, offeredEveryMs).catch(() => undefined);
}

function programHelp(): string {
  return [
    "npm run cli -- <command> [--json] [--yes] [--as <name>]",
    overview(),
    "`npm run cli -- <command> --help` says more. Exit codes:",
    exitHelp(),
  ].join("\n");
}

function screenOf(leaving: AbortController): Screen {
  const { signal } = leaving;
  return {
    out: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(`${text}\n`),
    width: process.stdout.columns || widthDefault,
    stream: process.stderr,
    ask: process.stdin.isTTY && process.stderr.isTTY ? (question) => ask(question, leaving) : undefined,
    signal,
  };
}

/** Asks on standard error, because standard output is for the answer. Ctrl-C or no input gives an empty text. */
function ask(question: string, leaving: AbortController): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr, historySize: 0 });
  return new Promise((resolve) => {
    lines.once("SIGINT", () => {
      leaving.abort();
      lines.close();
    });
    lines.once("close", () => resolve(""));
    lines.question(question, (typed) => {
      resolve(typed);
      lines.close();
    });
  });
}

function leave(leaving: AbortController, screen: Screen): void {
  leaving.abort();
  setTimeout(() => {
    screen.err("Left alone: what was asked for may be done all the same.");
    void end(exitCodes.leftAlone);
  }, leavingMs).unref();
}

/** Exits after all output is written: otherwise the output to a pipe would be truncated. */
function end(code: ExitCode): Promise<never> {
  const written = (stream: NodeJS.WriteStream) =>
    new Promise<void>((resolve) => {
      if (stream.writableLength === 0) resolve();
      else stream.write("", () => resolve());
    });
  return Promise.all([process.stdout, process.stderr].map(written)).then(() => process.exit(code));
}
