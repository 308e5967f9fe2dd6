// How receivers and the API's clients know a delivery.

export const messageId = (id: string): string => `msg_${id.replaceAll("-", "")}`;

/** The row's id; undefined for what is none. */
export function deliveryIdOf(message: string): string | undefined {
  return /^msg_([0-9a-f]{32})$/.exec(message)?.[1];
}
