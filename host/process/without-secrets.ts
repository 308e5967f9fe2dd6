// Removes secrets from error messages: libraries quote their input in them, such as addresses with passwords and tokens, and
// headers.

/** The part of a message that is kept: a longer line would say nothing more. */
const charsMax = 2_000;

/** @returns at most 2,000 characters, with `[redacted]` in place of secrets */
export function withoutSecrets(message: string): string {
  return message
    .slice(0, charsMax)
    .replace(/[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'`<>]+/gi, withoutPath)
    .replace(/\b(?:bearer|basic)\s[\w.~+/=-]+/gi, redacted)
    .replace(/[\w.-]+/g, withoutToken)
    .replace(/[\w:-]+/g, withoutBotToken);
}

const redacted = "[redacted]";

/** A JSON Web Token has three parts, the first of which is base64url of a text that begins with `{"`. */
function withoutToken(word: string): string {
  const at = word.indexOf("eyJ");
  return at < 0 || word.slice(at).split(".").length < 3 ? word : `${word.slice(0, at)}${redacted}`;
}

/** The id of a bot and its secret, in the form of the Bot API. */
function withoutBotToken(word: string): string {
  const [id = "", secret = ""] = word.split(":", 2);
  return /^\d{6}$/.test(id.slice(-6)) && secret.length >= 30 ? redacted : word;
}

/** Keeps scheme, host and port: they identify the dependency. */
function withoutPath(address: string): string {
  const [scheme, rest] = splitAt(address, "://");
  const end = rest.search(/[/?#]/);
  const authority = end < 0 ? rest : rest.slice(0, end);
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  return `${scheme}://${host}${end < 0 ? "" : "/…"}`;
}

function splitAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return [text.slice(0, at), text.slice(at + mark.length)];
}
