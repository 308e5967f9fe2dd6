// Bodies that an action needs byte for byte, because their sender has signed the bytes. The gateway bounds but does not parse
// them: with any media type they are passed on as base64 in the parameter `content`.
import { text } from "./params/rules.ts";
import type { Fields } from "./params/types.ts";

export interface RawBody {
  readonly bytesMax: number;
  /** The content of the body, for the documentation: the action itself parses and refuses it. */
  readonly fields: Fields;
}

/** @returns the body parameters of an action with `rawBody` */
export function rawContent(bytesMax: number) {
  return { content: text({ max: Math.ceil(bytesMax / 3) * 4 }) };
}

/** @returns the bytes as they were sent */
export function bytesOf({ content }: { content: string }): Buffer {
  return Buffer.from(content, "base64");
}
