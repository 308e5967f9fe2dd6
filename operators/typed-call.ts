// Splits a typed line into words, and parses the words after an action's name as its parameters.
export interface TypedCall {
  action: string;
  params: Record<string, unknown>;
  help: boolean;
  json: boolean;
  yes: boolean;
}

/** Quotes keep words together; a backslash escapes the next character, except within '…'. */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at);
    if (character === "\\" && quote !== "'" && at + 1 < line.length) word = (word ?? "") + line.charAt(++at);
    else if (quote !== "") {
      if (character === quote) quote = "";
      else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  return word === undefined ? words : [...words, word];
}

/**
 * `users.get --user_id 7`, or `users.get '{"user_id": 7}'`.
 * @param kinds types of the action's parameters, from its summary @throws SyntaxError for invalid JSON
 */
export function parseTypedCall(
  [action = "", ...words]: readonly string[],
  kinds: Readonly<Record<string, string>>,
): TypedCall {
  const typed: TypedCall = { action, params: {}, help: false, json: false, yes: false };
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (!word.startsWith("--")) Object.assign(typed.params, JSON.parse(word));
    else if (word === "--help") typed.help = true;
    else if (word === "--json") typed.json = true;
    else if (word === "--yes") typed.yes = true;
    else {
      const [name = "", ...rest] = word.slice(2).split("=");
      const next = words[at + 1];
      const isBare = rest.length === 0 && (next === undefined || next.startsWith("--"));
      if (rest.length === 0 && !isBare) at++;
      const text = isBare ? "true" : rest.length > 0 ? rest.join("=") : (next ?? "");
      typed.params[name] = valueOf(text, kinds[name] ?? "");
    }
  }
  return typed;
}

/** A text stays a text, also if it looks like a number. */
function valueOf(text: string, kind: string): unknown {
  if (/\bor null\b/.test(kind) && text === "null") return null;
  if (kind.startsWith("integer") && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (kind.startsWith("true") && /^(?:true|false)$/.test(text)) return text === "true";
  return kind.includes("JSON") ? JSON.parse(text) : text;
}
