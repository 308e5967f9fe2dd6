/** One setting: its environment variable, default, meaning and reader. */
import { readFlag, Refused } from "./readers.ts";
import type { Reader } from "./readers.ts";

/** The current text of another setting (set or default), for defaults that depend on it. */
export type Lookup = (name: string) => string | undefined;

export interface Setting<T> {
  readonly name: string;
  readonly meaning: string;
  readonly reader: Reader<T>;
  /** The text used when the variable is not set; undefined: the setting is undefined. */
  readonly fallback: (textOf: Lookup) => string | undefined;
  /** The default as shown in docs/settings.md. */
  readonly shown: string;
  /** The value is never repeated in a message, and `<NAME>_FILE` may name a file with it. */
  readonly secret: boolean;
}

/** A setting that always has a value. @param shown describes a computed default */
export function setting<T>(
  name: string,
  reader: Reader<T>,
  fallback: string | ((textOf: Lookup) => string),
  meaning: string,
  shown = typeof fallback === "string" ? fallback : "",
): Setting<T> {
  const compute = typeof fallback === "string" ? () => fallback : fallback;
  return { name, meaning, reader, fallback: compute, shown, secret: false };
}

/** A setting that may be undefined. @param shown describes what happens then */
export function optional<T>(
  name: string,
  reader: Reader<T>,
  meaning: string,
  shown: string,
): Setting<T | undefined> {
  return { name, meaning, reader, fallback: () => undefined, shown, secret: false };
}

/** An optional setting whose value is secret. */
export function secret<T>(
  name: string,
  reader: Reader<T>,
  meaning: string,
  shown: string,
): Setting<T | undefined> {
  return { ...optional(name, reader, meaning, shown), secret: true };
}

/** The variable part in the name of a family. */
export const familyMark = "<KIND>";

/**
 * Several secrets with one variable each: `NAME_<KIND>`. The result has them by the member's name in lower case. Internally the
 * text of all members is one JSON object (see config.ts).
 */
export function family<T>(
  name: string,
  member: Reader<T>,
  meaning: string,
  shown: string,
): Setting<Readonly<Record<string, T>>> {
  const reader: Reader<Readonly<Record<string, T>>> = (text) =>
    Object.fromEntries(
      Object.entries<string>(JSON.parse(text)).map(([kind, each]) => {
        try {
          return [kind, member(each)];
        } catch (error) {
          if (error instanceof Refused) throw new Refused(`for ${kind.toUpperCase()} ${error.message}`);
          throw error;
        }
      }),
    );
  return { name, meaning, reader, fallback: () => "{}", shown, secret: true };
}

/** Whether a value of NODE_ENV means production. */
export const saysProduction = (text: string | undefined) => /^prod(?:uction)?$/i.test(text ?? "");
/** Whether NODE_ENV means production. */
export const isProduction = (textOf: Lookup) => saysProduction(textOf("NODE_ENV"));
/** Whether DEMO_MODE is on, set or by default. */
export const isDemo = (textOf: Lookup) => readFlag(textOf("DEMO_MODE") ?? "") === true;
