// How many links to reset one account's password are open at once, and which of them a new one ends. Pure.

/** An open link, by its place among the account's. */
export interface OpenLink {
  slot: number;
  /** It was asked for from an origin that the account knows. */
  known: boolean;
  /** The wish it was made for. */
  request: string | null;
}

const slots = [1, 2, 3] as const;

/**
 * The place of a new link; undefined: none is made, as three are open in the owner's mailbox, of which each will do. A
 * stranger ends no other link; an origin that the account knows ends the oldest of the strangers', or else of all.
 * @param open oldest first
 */
export function slotFor(open: readonly OpenLink[], wish: Omit<OpenLink, "slot">): number | undefined {
  // The job of a mail that could not be sent is tried again: that is the same link.
  const same = open.find(({ request }) => request !== null && request === wish.request);
  if (same !== undefined) return same.slot;
  const free = slots.find((slot) => open.every((link) => link.slot !== slot));
  if (free !== undefined || !wish.known) return free;
  return (open.find(({ known }) => !known) ?? open[0])?.slot;
}
