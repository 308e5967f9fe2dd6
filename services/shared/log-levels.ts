// How much is told, by module, while the process runs. Modules are children of the log with a level of their own.
import type { ChildLoggerOptions, Logger } from "pino";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];
/** What is of no module. */
const mainModule = "main";

interface Child {
  readonly logger: Logger;
  readonly atLeast: LogLevel;
}

/** Moleculer makes one for each part of it and of ours, at the start. */
const childrenMax = 1_000;

export class LogLevels {
  readonly #main: Logger;
  readonly #modules = new Map<string, Child[]>();
  #children = 0;

  constructor(main: Logger) {
    this.#main = main;
  }

  /** @param atLeast it never tells more than that: its lines below would hold what must not be told */
  child(
    module: string,
    { atLeast = "trace", bindings = { mod: module }, ...options }: ChildOptions = {},
  ): Logger {
    const level = quieter(this.#main.level, atLeast);
    const logger = this.#main.child(bindings, { ...options, level });
    if (this.#children < childrenMax) {
      this.#children++;
      this.#modules.set(module, [...(this.#modules.get(module) ?? []), { logger, atLeast }]);
    }
    return logger;
  }

  /** @param module absent: all of them */
  has(module?: string): boolean {
    return module === undefined || module === mainModule || this.#modules.has(module);
  }

  /** @param module one; absent: all @returns false where there is no such module */
  set(level: LogLevel, module?: string): boolean {
    if (!this.has(module)) return false;
    if (module === undefined || module === mainModule) this.#main.level = level;
    for (const [name, children] of this.#modules) {
      if (module !== undefined && module !== name) continue;
      for (const { logger, atLeast } of children) logger.level = quieter(level, atLeast);
    }
    return true;
  }

  /** The level in force of each module. */
  get(): Record<string, string> {
    const modules = [...this.#modules].map(([name, [first]]) => [name, first?.logger.level ?? ""] as const);
    return { [mainModule]: this.#main.level, ...Object.fromEntries(modules) };
  }
}

interface ChildOptions extends Pick<ChildLoggerOptions, "redact"> {
  atLeast?: LogLevel;
  bindings?: object;
}

const order = new Map<string, number>(logLevels.map((level, at) => [level, at]));

/** Of the two the one that tells less. */
function quieter(one: string, other: LogLevel): string {
  return (order.get(one) ?? 0) > (order.get(other) ?? 0) ? one : other;
}

const known = new WeakMap<Logger, LogLevels>();

/** Of a process's own log. */
export function levelsOf(log: Logger): LogLevels {
  const levels = known.get(log) ?? new LogLevels(log);
  known.set(log, levels);
  return levels;
}
