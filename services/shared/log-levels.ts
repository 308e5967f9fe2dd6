// Log levels per module, changeable while the process runs. Modules are child loggers with a level of their own.
import type { ChildLoggerOptions, Logger } from "pino";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];
/** For lines that belong to no module. */
const mainModule = "main";

interface Child {
  readonly logger: Logger;
  readonly atLeast: LogLevel;
}

/** Moleculer makes one per part of itself and per service, at the start. */
const childrenMax = 1_000;

/** The main logger of a process and its child loggers; at most 1,000 children are tracked. */
export class LogLevels {
  readonly #main: Logger;
  readonly #modules = new Map<string, Child[]>();
  #children = 0;

  constructor(main: Logger) {
    this.#main = main;
  }

  /** @param atLeast the most detailed level that may be set: lines below it could hold secrets */
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

  /** @param module absent: all modules */
  has(module?: string): boolean {
    return module === undefined || module === mainModule || this.#modules.has(module);
  }

  /** @param module absent: all modules @returns false if there is no such module */
  set(level: LogLevel, module?: string): boolean {
    if (!this.has(module)) return false;
    if (module === undefined || module === mainModule) this.#main.level = level;
    for (const [name, children] of this.#modules) {
      if (module !== undefined && module !== name) continue;
      for (const { logger, atLeast } of children) logger.level = quieter(level, atLeast);
    }
    return true;
  }

  /** @returns the current level of each module */
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

/** @returns the less detailed of the two levels */
function quieter(one: string, other: LogLevel): string {
  return (order.get(one) ?? 0) > (order.get(other) ?? 0) ? one : other;
}

const known = new WeakMap<Logger, LogLevels>();

/** The levels of a process's log; one object per log. */
export function levelsOf(log: Logger): LogLevels {
  const levels = known.get(log) ?? new LogLevels(log);
  known.set(log, levels);
  return levels;
}
