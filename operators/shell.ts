// The REPL: Moleculer's, whose own words on nodes and actions stay, with the operators' commands before them. Nothing that is
// typed is kept: lines hold passwords, names and keys.
import { createRequire } from "node:module";
import type { CompleterResult } from "node:readline";
import type { ReplOptions, REPLServer } from "node:repl";
import { complete } from "./complete.ts";
import { exitCodes } from "./failures.ts";
import { overview } from "./help.ts";
import type { Joined } from "./joined.ts";
import { readRequest } from "./request.ts";
import { failed, runRequest, type Screen } from "./run-request.ts";
import { wordsOf } from "./words.ts";

const widthDefault = 100;

/** What of Moleculer's shell is of use here; the rest would go past names and confirmations, or show secrets (`env`). */
const moleculers = ["actions", "services", "events", "info", "clear", "cls", "quit", "exit", "q"];

type Start = (options: ReplOptions) => REPLServer;

const require = createRequire(import.meta.url);

/** @returns the shell; its `exit` ends the program, as Moleculer's does */
export function openShell(joined: Joined): REPLServer {
  // Moleculer's REPL starts Node's with options of its own and opens a history file; both pass through here.
  const repl: { start: Start } = require("node:repl");
  const { start } = repl;
  repl.start = (options) => {
    // One after another: an answer to a question is no command.
    let last: Promise<unknown> = Promise.resolve();
    const shell = start({
      ...options,
      preview: false,
      completer: (line: string): CompleterResult => complete(joined.broker, line, [...moleculers, "help"]),
      eval(line, context, file, done) {
        const words = wordsOf(line);
        const [first = ""] = words;
        if (first === "" || moleculers.includes(first))
          return options.eval?.call(this, line, context, file, done);
        last = last.then(async () => {
          await run(joined, shell, words);
          // With one argument nothing further is printed.
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

async function run(joined: Joined, shell: REPLServer, words: readonly string[]): Promise<void> {
  if (words[0] === "help") {
    process.stdout.write(`${overview()}\nMoleculer's own: ${moleculers.join(", ")}.\n`);
    return;
  }
  const leaving = new AbortController();
  const screen = screenOf(shell, leaving.signal);
  // At the prompt Ctrl-C clears the line; now it leaves what runs alone.
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
    // What Node's own list answers are its listeners.
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
