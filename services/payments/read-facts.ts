// Reading the fields of a notification: each reader answers the value, or notes in FastAPI's words what is wrong with it
// and where, so that a refusal names everything at once. Only own properties count, and only what has one reading.
import { failure, missing, notFields, valueError } from "../shared/params/failure.ts";
import { readMoment } from "../shared/params/read-moment.ts";
import type { Failure } from "../shared/params/types.ts";
import { type Status, statuses } from "./payment.rules.ts";
import { type Ambiguities, ambiguous } from "./unambiguous-json.ts";

const firstYearMs = 0;
const lastSecond = 253_402_300_799;
const moment = readMoment();

/** A notification's fields, read one by one. */
export class Facts {
  readonly failures: Failure[] = [];
  readonly #body: unknown;
  readonly #ambiguities: Ambiguities;

  constructor(body: unknown, ambiguities: Ambiguities) {
    this.#body = body;
    this.#ambiguities = ambiguities;
  }

  /** Visible ASCII without spaces: what ids of providers are made of, and what sorts alike everywhere. */
  id(...path: string[]): string {
    return this.#text(path, /^[!-~]{1,255}$/, "an id of 1 to 255 letters, digits and signs");
  }

  type(...path: string[]): string {
    return this.#text(path, /^[!-~]{1,100}$/, "a type of 1 to 100 letters, digits and signs");
  }

  /** Compared as subdomains are: in lower case. What could be none is unknown, not malformed. */
  tenant(...path: string[]): string {
    return this.#text(path, /^[!-~]{1,100}$/, "a subdomain").toLowerCase();
  }

  currency(...path: string[]): string {
    return this.#text(path, /^[A-Za-z]{3}$/, "a currency of three letters").toUpperCase();
  }

  /** Whole units from zero, as text. */
  wholeAmount(...path: string[]): string {
    const value = this.#at(path);
    if (value === undefined) return "";
    if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 1e15)
      return String(value);
    return this.#refuse(path, valueError("the amount must be a whole number from 0, in the smallest unit"));
  }

  /** A decimal from zero, as text or as a number that was exact. */
  decimalAmount(...path: string[]): string {
    const value = this.#at(path);
    if (value === undefined) return "";
    const text = typeof value === "number" ? String(value) : value;
    if (typeof text === "string" && /^\d{1,15}(?:\.\d{1,8})?$/.test(text)) return text;
    return this.#refuse(path, valueError("the amount must be a decimal from 0"));
  }

  /** @returns Unix time in milliseconds, of seconds */
  unixSeconds(...path: string[]): number {
    const value = this.#at(path);
    if (value === undefined) return 0;
    if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= lastSecond)
      return value * 1000;
    this.#refuse(path, valueError("the moment must be a Unix time in whole seconds"));
    return 0;
  }

  /** @returns Unix time in milliseconds, of an ISO 8601 date-time; what is finer than that is cut off */
  isoMoment(...path: string[]): number {
    const value = this.#at(path);
    if (value === undefined) return 0;
    const found: Failure[] = [];
    const read = moment(value, found);
    const [fault] = found;
    // The reader answers a Moment whenever it reports no fault.
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

  /** undefined when it, or something on the way to it, is missing or ambiguous; that is noted once. */
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
      // An object that came out of JSON.parse has string keys only.
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

/** "payment.failed" → "failed"; undefined for a type that says nothing of a payment's status. */
export function statusOfType(type: string): Status | undefined {
  return statuses.find((status) => type === `payment.${status}`);
}
