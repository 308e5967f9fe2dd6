// The log: JSON lines on standard output, written in the background so that no request waits for the terminal. For who works
// at a terminal each entry is one readable line instead, with colours.
// What must never be in it (tokens, passwords, bodies, search texts) is not passed to it in the first place; the
// redaction here is the second wall.
import { createRequire } from "node:module";
import pino, { type Logger } from "pino";
import { logFacts } from "../../services/shared/tracing.ts";
import { withoutSecrets } from "./without-secrets.ts";

const flushEveryMs = 200;
const gatheredCharsMax = 32_768;
/** Where standard output is read too slowly, or not at all, what is beyond is lost. */
const waitingBytesMax = 16_777_216;

const secretFields = [
  "password",
  "new_password",
  "token",
  "access_token",
  "device_id",
  "secret",
  "authorization",
  "new_key",
];

/**
 * @param destination a file, or 1 for standard output
 * @param readable for people, not for programs
 */
export function createLog(
  level: string,
  destination: number | string = 1,
  readable = false,
): { log: Logger; flush: () => void } {
  const stream = pino.destination({
    dest: destination,
    sync: false,
    maxLength: waitingBytesMax,
  });
  // A terminal that was closed, a full disk: the service goes on, and stops in order, without its log.
  stream.on("error", () => {});
  const lines = new Lines((text) => stream.write(text), readable ? lineForPeople() : undefined);
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secretFields.flatMap((field) => [field, `*.${field}`]), censor: "[redacted]" },
      serializers: { err: safeError },
      // Whom a line is about: it need not be said where the line is written.
      mixin: logFacts,
      hooks: { logMethod: quoteNoError },
    },
    lines,
  );
  const flush = () => {
    lines.pass();
    try {
      stream.flushSync();
    } catch {
      // As above.
    }
  };
  return { log, flush };
}

/** An error alone is a line too, of which pino would make its message the text. */
const quoteNoError: pino.LoggerOptions["hooks"] extends { logMethod?: infer Hook } | undefined
  ? Hook
  : never = function (args, method) {
  const [first, text, ...rest] = args as [unknown, ...unknown[]];
  if (!(first instanceof Error)) return method.apply(this, args);
  const words = typeof text === "string" ? text : "error";
  return method.apply(this, [{ err: first }, words, ...rest] as Parameters<typeof method>);
};

/** Loaded where it is used: it costs a start some time. */
function lineForPeople(): (line: string) => string {
  const { prettyFactory } = createRequire(import.meta.url)("pino-pretty") as typeof import("pino-pretty");
  return prettyFactory({
    colorize: true,
    singleLine: true,
    translateTime: "SYS:HH:MM:ss.l",
    ignore: "nodeID,ns,svc,mod,method,route,status,durationMs,ip",
    messageFormat: messageOf,
  });
}

function messageOf(entry: Record<string, unknown>, key: string): string {
  const { mod, method, route, status, durationMs, [key]: message } = entry;
  if (mod === "access") return [method, route, status, durationMs, "ms"].join(" ");
  return typeof message === "string" ? message : "";
}

/** Passes lines on by the hundred: handed on one by one they cost the stream more than all the rest of the log. */
class Lines {
  readonly #to: (text: string) => void;
  readonly #shape: ((line: string) => string) | undefined;
  #gathered: string[] = [];
  #chars = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(to: (text: string) => void, shape: ((line: string) => string) | undefined) {
    this.#to = to;
    this.#shape = shape;
  }

  write(json: string): void {
    const line = this.#shape?.(json) ?? json;
    this.#gathered.push(line);
    this.#chars += line.length;
    if (this.#chars >= gatheredCharsMax) this.pass();
    else this.#timer ??= setTimeout(() => this.pass(), flushEveryMs).unref();
  }

  pass(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#gathered.join("");
    this.#gathered = [];
    this.#chars = 0;
    if (text !== "") this.#to(text);
  }
}

/**
 * Database errors quote values (a key that clashed, a text that would not parse), so of an error that carries an
 * SQLSTATE only the facts about the schema are kept.
 */
function safeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: "not an error object" };
  const { name, code, constraint, table, routine, severity } = error as Error & Record<string, unknown>;
  const frames = error.stack
    ?.split("\n")
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 12);
  const ofDatabase = severity !== undefined || name.endsWith("Exception");
  return ofDatabase
    ? { name, code, constraint, table, routine, stack: frames }
    : { name, code, message: withoutSecrets(error.message), stack: frames };
}
