/** One setting of the service: its environment variable, default, meaning and reader. */
import { readFlag, Refused } from "./readers.ts";
import type { Reader } from "./readers.ts";

/** The text in force of another setting (given or default), for defaults that follow from it. */
export type Lookup = (name: string) => string | undefined;

export interface Setting<T> {
  readonly name: string;
  readonly meaning: string;
  readonly reader: Reader<T>;
  /** The text used when nothing is given; undefined: the setting stays undefined. */
  readonly fallback: (textOf: Lookup) => string | undefined;
  /** The default as the README shows it. */
  readonly shown: string;
  /** Its text is never repeated in a message, and `<NAME>_FILE` may name a file that holds it. */
  readonly secret: boolean;
}

/** A setting that always has a value; `shown` describes a computed default. */
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

export function optional<T>(
  name: string,
  reader: Reader<T>,
  meaning: string,
  shown: string,
): Setting<T | undefined> {
  return { name, meaning, reader, fallback: () => undefined, shown, secret: false };
}

export function secret<T>(
  name: string,
  reader: Reader<T>,
  meaning: string,
  shown: string,
): Setting<T | undefined> {
  return { ...optional(name, reader, meaning, shown), secret: true };
}

/** The part of a family's name that stands for what each member adds, in capitals. */
export const familyMark = "<KIND>";

/**
 * Secrets of which there may be several, one variable for each: `NAME_<KIND>`, by the member's name in lower case. The
 * text of all of them together is JSON (see config.ts).
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

export const saysProduction = (text: string | undefined) => /^prod(?:uction)?$/i.test(text ?? "");
export const isProduction = (textOf: Lookup) => saysProduction(textOf("NODE_ENV"));
export const isDemo = (textOf: Lookup) => readFlag(textOf("DEMO_MODE") ?? "") === true;
