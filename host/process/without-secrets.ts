// Messages of errors quote what libraries were given: addresses with passwords and tokens, headers. This takes them out.

/** What is looked at of one message: beyond, the line would say nothing more. */
const charsMax = 2_000;

export function withoutSecrets(message: string): string {
  return message
    .slice(0, charsMax)
    .replace(/[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'`<>]+/gi, withoutPath)
    .replace(/\b(?:bearer|basic)\s[\w.~+/=-]+/gi, redacted)
    .replace(/[\w.-]+/g, withoutToken)
    .replace(/[\w:-]+/g, withoutBotToken);
}

const redacted = "[redacted]";

/** A JSON Web Token is three parts of which the first is base64url of `{"`. */
function withoutToken(word: string): string {
  const at = word.indexOf("eyJ");
  return at < 0 || word.slice(at).split(".").length < 3 ? word : `${word.slice(0, at)}${redacted}`;
}

/** The id of a bot and its secret, as the Bot API writes them. */
function withoutBotToken(word: string): string {
  const [id = "", secret = ""] = word.split(":", 2);
  return /^\d{6}$/.test(id.slice(-6)) && secret.length >= 30 ? redacted : word;
}

/** Scheme, host and port stay: they say which dependency it was. */
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
