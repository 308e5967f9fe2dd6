// Bodies that an action must see byte for byte, because their sender has signed the bytes. The gateway bounds them and
// parses nothing: whatever media type they claim, they go on as base64 in the parameter `content`.
import { text } from "./params/rules.ts";
import type { Fields } from "./params/types.ts";

export interface RawBody {
  readonly bytesMax: number;
  /** What is in it, for the documentation: the action itself reads and refuses it. */
  readonly fields: Fields;
}

/** The body's parameters of an action with `rawBody`. */
export function rawContent(bytesMax: number) {
  return { content: text({ max: Math.ceil(bytesMax / 3) * 4 }) };
}

/** The bytes as they were sent. */
export function bytesOf({ content }: { content: string }): Buffer {
  return Buffer.from(content, "base64");
}
