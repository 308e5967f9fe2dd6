// Interprets the messenger's updates: a command in a chat, a chat that blocked the bot, or nothing.

type Command = "start" | "status" | "stop" | "help";

/** An update, reduced to what the bot acts on. */
export interface Update {
  id: number;
  /** Absent: nothing to do. */
  action?:
    | { what: "command"; chatId: number; command: Command; displayName: string }
    /** A command in a group, where others would see a code. */
    | { what: "not_private"; chatId: number }
    | { what: "blocked"; chatId: number };
}

type Fields = Record<string, unknown>;

const nameLengthMax = 128;

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

/** @param value one update of the Bot API @returns undefined when it is malformed */
export function readUpdate(value: unknown): Update | undefined {
  const { update_id: id, message, my_chat_member: membership } = fieldsOf(value);
  if (!isId(id)) return undefined;
  const action =
    message === undefined ? readMembership(fieldsOf(membership)) : readMessage(fieldsOf(message));
  return action === undefined ? { id } : { id, action };
}

function readMessage({ chat, from, text }: Fields): Update["action"] {
  const { id: chatId, type } = fieldsOf(chat);
  if (!isId(chatId)) return undefined;
  const command = typeof text === "string" ? text.slice(0, 100).trim() : "";
  if (type !== "private") return command.startsWith("/") ? { what: "not_private", chatId } : undefined;
  return { what: "command", chatId, command: commandIn(command), displayName: displayNameOf(fieldsOf(from)) };
}

function readMembership({ chat, new_chat_member: member }: Fields): Update["action"] {
  const { id: chatId, type } = fieldsOf(chat);
  const isBlocked = type === "private" && fieldsOf(member)["status"] === "kicked";
  return isId(chatId) && isBlocked ? { what: "blocked", chatId } : undefined;
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** Accepts "/start", "/start@the_bot" and "/start something". */
function commandIn(text: string): Command {
  const word = /^\/([a-z]{1,20})(?:@\w{1,64})?(?:\s|$)/i.exec(text)?.[1]?.toLowerCase();
  return word === "start" || word === "status" || word === "stop" ? word : "help";
}

/**
 * First and last name, or the user name, without control characters and characters that change the writing
 * direction.
 */
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
