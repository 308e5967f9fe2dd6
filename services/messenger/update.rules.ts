// What the messenger's updates mean to us: a command in a chat, a chat that has blocked the bot, or nothing.

type Command = "start" | "status" | "stop" | "help";

export interface Update {
  id: number;
  /** Absent: nothing to do. */
  act?:
    | { what: "command"; chatId: number; command: Command; displayName: string }
    /** Somebody spoke to the bot where others listen: a code must not be shown there. */
    | { what: "not_private"; chatId: number }
    | { what: "blocked"; chatId: number };
}

type Fields = Record<string, unknown>;

const nameLengthMax = 128;

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

/** @param value one update as the Bot API writes it. @returns undefined for what is no update */
export function readUpdate(value: unknown): Update | undefined {
  const { update_id: id, message, my_chat_member: membership } = fieldsOf(value);
  if (!isId(id)) return undefined;
  const act = message === undefined ? readMembership(fieldsOf(membership)) : readMessage(fieldsOf(message));
  return act === undefined ? { id } : { id, act };
}

function readMessage({ chat, from, text }: Fields): Update["act"] {
  const { id: chatId, type } = fieldsOf(chat);
  if (!isId(chatId)) return undefined;
  const said = typeof text === "string" ? text.slice(0, 100).trim() : "";
  if (type !== "private") return said.startsWith("/") ? { what: "not_private", chatId } : undefined;
  return { what: "command", chatId, command: commandIn(said), displayName: displayNameOf(fieldsOf(from)) };
}

function readMembership({ chat, new_chat_member: member }: Fields): Update["act"] {
  const { id: chatId, type } = fieldsOf(chat);
  const isBlocked = type === "private" && fieldsOf(member)["status"] === "kicked";
  return isId(chatId) && isBlocked ? { what: "blocked", chatId } : undefined;
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** "/start", "/start@the_bot", "/start something". */
function commandIn(text: string): Command {
  const word = /^\/([a-z]{1,20})(?:@\w{1,64})?(?:\s|$)/i.exec(text)?.[1]?.toLowerCase();
  return word === "start" || word === "status" || word === "stop" ? word : "help";
}

/** First and last name, or the user name; without control characters and marks that turn the writing round. */
export function displayNameOf({ first_name: first, last_name: last, username }: Fields): string {
  const words = [first, last].filter((word): word is string => typeof word === "string");
  const name = clean(words.join(" "));
  return name === "" && typeof username === "string" ? clean(username) : name;
}

function clean(name: string): string {
  const bare = name
    .toWellFormed()
    .slice(0, 1_000)
    .replaceAll(/[\p{C}\s]+/gu, " ")
    .trim()
    .normalize("NFC");
  return Array.from(bare).slice(0, nameLengthMax).join("").trim();
}
