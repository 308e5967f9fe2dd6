// The id of a delivery as receivers and API clients see it.

/** "msg_" and the 32 hex digits of the UUID. */
export const messageId = (id: string): string => `msg_${id.replaceAll("-", "")}`;

/** The row's UUID as hex; undefined for a malformed id. */
export function deliveryIdOf(message: string): string | undefined {
  return /^msg_([0-9a-f]{32})$/.exec(message)?.[1];
}
