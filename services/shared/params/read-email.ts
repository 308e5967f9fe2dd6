/**
 * Validates e-mail addresses with the messages of the `email-validator` package that Pydantic uses.
 * Unlike there, names reserved for private use (`.local`, `.test`) are accepted: intranets send mail too. Quoted
 * local parts, address literals and display names are refused, as there.
 */
import { domainToASCII } from "node:url";
import { failure } from "./failure.ts";
import { type Read, refuse, textFault } from "./read-text.ts";

const addressLengthMax = 254;
const localLengthMax = 64;
const domainLengthMax = 253;
const labelLengthMax = 63;
const shownMax = 10;

/** Matches almost every address, and avoids the detailed checks below. */
const ordinary = /^[a-z0-9_+-]+(?:\.[a-z0-9_+-]+)*@(?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z]{2,}$/i;
const localCharacter = /[\w!#$%&'*+\-/=?^`{|}~.\u0080-\u{10ffff}]/u;
const domainCharacter = /[a-z0-9.\-\u0080-\u{10ffff}]/iu;
const asciiHost = /^[a-z0-9.-]+$/i;
const unsafeCharacter = /[\p{Z}\p{C}]/u;

/** @returns a reader of addresses: trimmed, in NFC, at most 254 characters */
export function readEmail(): Read {
  return (value, failures) => {
    if (typeof value !== "string") return refuse(failures, "string_type", "Input should be a valid string");
    const trimmed = value.trim();
    if (trimmed.length <= localLengthMax && ordinary.test(trimmed)) return trimmed;
    // Too long in any normal form. This also keeps hostile input away from NFC.
    const fault =
      trimmed.length > addressLengthMax * 4 ? tooLong("", trimmed, addressLengthMax) : addressFault(trimmed);
    if (fault === undefined) return trimmed.normalize("NFC");
    failures.push(failure("value_error", `value is not a valid email address: ${fault}`));
  };
}

function addressFault(raw: string): string | undefined {
  const unstorable = textFault(raw);
  if (unstorable !== undefined) return `The email address must not contain ${unstorable}.`;
  const address = raw.normalize("NFC");
  const at = address.lastIndexOf("@");
  if (at === -1) return "An email address must have an @-sign.";
  const local = address.slice(0, at);
  const domain = address.slice(at + 1);
  return (
    localFault(local) ??
    domainFault(domain) ??
    (address.length > addressLengthMax ? tooLong("", address, addressLengthMax) : undefined)
  );
}

function localFault(local: string): string | undefined {
  if (local === "") return "There must be something before the @-sign.";
  if (local.length > localLengthMax) return tooLong(" before the @-sign", local, localLengthMax);
  const strange = invalidCharacters(local, localCharacter);
  if (strange !== "") return `The email address contains invalid characters before the @-sign: ${strange}.`;
  if (local.endsWith(".")) return "An email address cannot have a period immediately before the @-sign.";
  if (local.startsWith(".")) return "An email address cannot start with a period.";
  if (local.includes("..")) return "An email address cannot have two periods in a row.";
  return unsafeFault(local);
}

function domainFault(domain: string): string | undefined {
  if (domain === "") return "There must be something after the @-sign.";
  const strange = invalidCharacters(domain, domainCharacter);
  if (strange !== "") return `The part after the @-sign contains invalid characters: ${strange}.`;
  return unsafeFault(domain) ?? dotFault(domain) ?? hostFault(domain);
}

function dotFault(domain: string): string | undefined {
  for (const [sign, word] of [
    [".", "period"],
    ["-", "hyphen"],
  ] as const) {
    if (domain.endsWith(sign)) return `An email address cannot end with a ${word}.`;
    if (domain.startsWith(sign))
      return `An email address cannot have a ${word} immediately after the @-sign.`;
  }
  if (domain.includes("..")) return "An email address cannot have two periods in a row.";
  if (domain.includes(".-") || domain.includes("-."))
    return "An email address cannot have a period and a hyphen next to each other.";
  return undefined;
}

function hostFault(domain: string): string | undefined {
  const host = isPlainHost(domain) ? domain : domainToASCII(domain);
  if (host === "") return "The part after the @-sign contains invalid characters.";
  if (host.length > domainLengthMax) return tooLong(" after the @-sign", host, domainLengthMax);
  const label = host.split(".").find((part) => part.length > labelLengthMax);
  if (label !== undefined)
    return `After the @-sign, periods cannot be separated by so many characters ${excess(label, labelLengthMax)}.`;
  if (!host.includes(".")) return "The part after the @-sign is not valid. It should have a period.";
  if (!/[a-z]$/i.test(host) && !/\.xn--[a-z0-9-]+$/i.test(host))
    return "The part after the @-sign is not valid. It is not within a valid top-level domain.";
  return undefined;
}

/** A domain that needs no translation to ASCII. `xn--` does, because it may not stand for a valid name. */
function isPlainHost(domain: string): boolean {
  return asciiHost.test(domain) && !domain.toLowerCase().includes("xn--");
}

function unsafeFault(part: string): string | undefined {
  if (!unsafeCharacter.test(part) && !/^\p{M}/u.test(part)) return undefined;
  return "The email address contains unsafe characters.";
}

/** @returns the distinct invalid characters, printable and only the first few, because they repeat the input */
function invalidCharacters(part: string, allowed: RegExp): string {
  const found = new Set<string>();
  for (const character of part) if (!allowed.test(character)) found.add(shown(character));
  return [...found].sort().slice(0, shownMax).join(", ");
}

function shown(character: string): string {
  if (character === " ") return "SPACE";
  if (character === "'") return `"'"`;
  if (/[\x21-\x7e]/.test(character)) return `'${character}'`;
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

function tooLong(where: string, part: string, max: number): string {
  return `The email address is too long${where} ${excess(part, max)}.`;
}

function excess(part: string, max: number): string {
  const count = part.length - max;
  return `(${count} character${count === 1 ? "" : "s"} too many)`;
}
