// The REPL: Moleculer's own, with the operators' commands in front of its commands. No history is kept: lines hold passwords,
// names and keys.
import { createRequire } from "node:module";
import type { CompleterResult } from "node:readline";
import type { ReplOptions, REPLServer } from "node:repl";
import { complete } from "./complete.ts";
import { exitCodes } from "./failures.ts";
import { overview } from "./help.ts";
import type { ServiceConnection } from "./service-connection.ts";
import { readRequest } from "./request.ts";
import { failed, runRequest, type Screen } from "./run-request.ts";
import { splitWords } from "./typed-call.ts";

const widthDefault = 100;

/** The commands of Moleculer's shell that are kept; the others would bypass names and confirmations, or show secrets (`env`). */
const moleculers = ["actions", "services", "events", "info", "clear", "cls", "quit", "exit", "q"];

type Start = (options: ReplOptions) => REPLServer;

const require = createRequire(import.meta.url);

/** @returns the shell; its `exit` ends the program, as in Moleculer's shell */
export function openShell(joined: ServiceConnection): REPLServer {
  // Moleculer's REPL starts Node's with its own options and opens a history file; this wrapper changes both.
  const repl: { start: Start } = require("node:repl");
  const { start } = repl;
  repl.start = (options) => {
    // Lines run one after the other: the answer to a question is not a command.
    let last: Promise<unknown> = Promise.resolve();
    const shell = start({
      ...options,
      preview: false,
      completer: (line: string): CompleterResult => complete(joined.broker, line, [...moleculers, "help"]),
      eval(line, context, file, done) {
        const words = splitWords(line);
        const [first = ""] = words;
        if (first === "" || moleculers.includes(first))
          return options.eval?.call(this, line, context, file, done);
        last = last.then(async () => {
          await run(joined, shell, words);
          // Without a result nothing further is printed.
          (done as (error: null) => void)(null);
        });
      },
    });
    shell.setupHistory = (_place: unknown, ready?: unknown) => {
      if (typeof ready === "function") ready(null, shell);
    };
    return shell;
  };
  try {
    return require("moleculer-repl")(joined.broker, { delimiter: "records $" });
  } finally {
    repl.start = start;
  }
}

async function run(joined: ServiceConnection, shell: REPLServer, words: readonly string[]): Promise<void> {
  if (words[0] === "help") {
    process.stdout.write(`${overview()}\nMoleculer's own: ${moleculers.join(", ")}.\n`);
    return;
  }
  const leaving = new AbortController();
  const screen = screenOf(shell, leaving.signal);
  // At the prompt Ctrl-C clears the line; during a command it stops the waiting.
  const usual = shell.rawListeners("SIGINT");
  shell.removeAllListeners("SIGINT");
  shell.on("SIGINT", () => leaving.abort());
  try {
    const code = await runRequest(joined, readRequest(words), screen);
    if (code === exitCodes.leftAlone) process.stdout.write("\n");
  } catch (error) {
    failed(error, screen, words.includes("--json"));
  } finally {
    shell.removeAllListeners("SIGINT");
    // The listeners are those that Node.js returned above.
    for (const listener of usual) shell.on("SIGINT", listener as () => void);
  }
}

function screenOf(shell: REPLServer, signal: AbortSignal): Screen {
  const say = (text: string) => void process.stdout.write(`${text}\n`);
  const ask = (question: string) =>
    new Promise<string>((resolve) => {
      signal.addEventListener("abort", () => resolve(""), { once: true });
      shell.question(question, { signal }, resolve);
    });
  return {
    out: say,
    err: say,
    width: process.stdout.columns || widthDefault,
    stream: process.stdout,
    ask: process.stdin.isTTY ? ask : undefined,
    signal,
  };
}
