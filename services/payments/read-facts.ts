// Readers for the fields of a notification. Each returns the value, or records in FastAPI's format what is
// wrong and where, so that a refusal names all faults at once. Only own properties count, and only
// unambiguous values.
import { failure, missing, notFields, valueError } from "../shared/params/failure.ts";
import { readMoment } from "../shared/params/read-moment.ts";
import type { Failure } from "../shared/params/types.ts";
import { type Status, statuses } from "./payment.rules.ts";
import { type Ambiguities, ambiguous } from "./unambiguous-json.ts";

const firstYearMs = 0;
const lastSecond = 253_402_300_799;
const moment = readMoment();

/**
 * The fields of a notification. After reading, `failures` holds all faults; a reader that failed returned ""
 * or 0.
 */
export class Facts {
  readonly failures: Failure[] = [];
  readonly #body: unknown;
  readonly #ambiguities: Ambiguities;

  constructor(body: unknown, ambiguities: Ambiguities) {
    this.#body = body;
    this.#ambiguities = ambiguities;
  }

  /** Visible ASCII without spaces: the characters of the providers' ids, which sort alike everywhere. */
  id(...path: string[]): string {
    return this.#text(path, /^[!-~]{1,255}$/, "an id of 1 to 255 letters, digits and signs");
  }

  /** The notification's type. */
  type(...path: string[]): string {
    return this.#text(path, /^[!-~]{1,100}$/, "a type of 1 to 100 letters, digits and signs");
  }

  /**
   * In lower case, for comparison with subdomains. A name that cannot be a subdomain leads to an unknown
   * tenant, not to a refusal.
   */
  tenant(...path: string[]): string {
    return this.#text(path, /^[!-~]{1,100}$/, "a subdomain").toLowerCase();
  }

  /** In capitals. */
  currency(...path: string[]): string {
    return this.#text(path, /^[A-Za-z]{3}$/, "a currency of three letters").toUpperCase();
  }

  /** An amount in whole units, from zero, as text. */
  wholeAmount(...path: string[]): string {
    const value = this.#at(path);
    if (value === undefined) return "";
    if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 1e15)
      return String(value);
    return this.#refuse(path, valueError("the amount must be a whole number from 0, in the smallest unit"));
  }

  /** A decimal amount from zero, from a text or from an exact number. */
  decimalAmount(...path: string[]): string {
    const value = this.#at(path);
    if (value === undefined) return "";
    const text = typeof value === "number" ? String(value) : value;
    if (typeof text === "string" && /^\d{1,15}(?:\.\d{1,8})?$/.test(text)) return text;
    return this.#refuse(path, valueError("the amount must be a decimal from 0"));
  }

  /** Reads seconds. @returns Unix time in milliseconds */
  unixSeconds(...path: string[]): number {
    const value = this.#at(path);
    if (value === undefined) return 0;
    if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= lastSecond)
      return value * 1000;
    this.#refuse(path, valueError("the moment must be a Unix time in whole seconds"));
    return 0;
  }

  /** Reads an ISO 8601 date-time. @returns Unix time in milliseconds; smaller fractions are cut off */
  isoMoment(...path: string[]): number {
    const value = this.#at(path);
    if (value === undefined) return 0;
    const found: Failure[] = [];
    const read = moment(value, found);
    const [fault] = found;
    // The reader returns a Moment whenever it reports no fault.
    const ms = fault === undefined ? Date.parse((read as { at: string }).at) : Number.NaN;
    if (ms >= firstYearMs) return ms;
    this.#refuse(path, fault ?? valueError("the moment must not be before 1970"));
    return 0;
  }

  #text(path: string[], pattern: RegExp, expectation: string): string {
    const value = this.#at(path);
    if (value === undefined) return "";
    if (typeof value !== "string")
      return this.#refuse(path, failure("string_type", "Input should be a valid string"));
    return pattern.test(value) ? value : this.#refuse(path, valueError(`it must be ${expectation}`));
  }

  /**
   * Undefined when the field or an object on its path is missing or ambiguous; the fault is recorded once.
   */
  #at(path: string[]): unknown {
    let value: unknown = this.#body;
    for (const [depth, name] of path.entries()) {
      const here = path.slice(0, depth);
      if (typeof value !== "object" || value === null || Array.isArray(value)) {
        this.#refuse(here, notFields());
        return undefined;
      }
      const upTo = path.slice(0, depth + 1);
      if (!Object.hasOwn(value, name)) {
        this.#refuse(upTo, missing());
        return undefined;
      }
      const ambiguity = this.#ambiguities.at(upTo);
      if (ambiguity !== undefined) {
        this.#refuse(upTo, ambiguous(ambiguity));
        return undefined;
      }
      // An object from JSON.parse has string keys only.
      value = (value as Record<string, unknown>)[name];
    }
    return value;
  }

  #refuse(path: readonly string[], fault: Failure): "" {
    const loc = ["body", ...path];
    const same = loc.join("\n");
    if (!this.failures.some((known) => known.loc.join("\n") === same)) this.failures.push({ ...fault, loc });
    return "";
  }
}

/** "payment.failed" → "failed"; undefined for a type that is not about the status of a payment. */
export function statusOfType(type: string): Status | undefined {
  return statuses.find((status) => type === `payment.${status}`);
}
