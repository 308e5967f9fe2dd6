// The log: JSON lines on standard output, written in the background so that no request waits for it. At a terminal each entry is
// one readable, coloured line instead.
// Secrets (tokens, passwords, bodies, search texts) must not be passed to the log at all; the redaction here is a second
// protection.
import { createRequire } from "node:module";
import pino, { type Logger } from "pino";
import { logFacts } from "../../services/shared/tracing.ts";
import { withoutSecrets } from "./without-secrets.ts";

const flushEveryMs = 200;
const batchCharsMax = 32_768;
/** If standard output is read too slowly or not at all, lines beyond this are lost. */
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
 * @param readable whether to write lines for people and not for programs
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
  // After the terminal was closed, or with a full disk, the service continues and stops in order, without its log.
  stream.on("error", () => {});
  const lines = new LineBatcher((text) => stream.write(text), readable ? lineForPeople() : undefined);
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secretFields.flatMap((field) => [field, `*.${field}`]), censor: "[redacted]" },
      serializers: { err: safeError },
      // Adds the current request and trace to each line.
      mixin: logFacts,
      hooks: { logMethod: quoteNoError },
    },
    lines,
  );
  const flush = () => {
    lines.flush();
    try {
      stream.flushSync();
    } catch {
      // As for the stream's errors above.
    }
  };
  return { log, flush };
}

/** For a line that consists only of an error: pino would use the error's message as the text. */
const quoteNoError: pino.LoggerOptions["hooks"] extends { logMethod?: infer Hook } | undefined
  ? Hook
  : never = function (args, method) {
  const [first, text, ...rest] = args as [unknown, ...unknown[]];
  if (!(first instanceof Error)) return method.apply(this, args);
  const words = typeof text === "string" ? text : "error";
  return method.apply(this, [{ err: first }, words, ...rest] as Parameters<typeof method>);
};

/** Loaded at its first use, because it slows down a start. */
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

/** Passes lines on in batches: one by one they cost the stream more than all other work of the log. */
class LineBatcher {
  readonly #to: (text: string) => void;
  readonly #shape: ((line: string) => string) | undefined;
  #batch: string[] = [];
  #chars = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(to: (text: string) => void, shape: ((line: string) => string) | undefined) {
    this.#to = to;
    this.#shape = shape;
  }

  write(json: string): void {
    const line = this.#shape?.(json) ?? json;
    this.#batch.push(line);
    this.#chars += line.length;
    if (this.#chars >= batchCharsMax) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), flushEveryMs).unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#batch.join("");
    this.#batch = [];
    this.#chars = 0;
    if (text !== "") this.#to(text);
  }
}

/**
 * Errors of the database quote values (a duplicate key, a text that cannot be parsed). So for errors with an SQLSTATE only facts
 * about the schema are kept.
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
