// How many password reset links of one account are valid at once, and which one a new link replaces. Pure
// functions.

/** A valid link and its slot among the account's links. */
export interface OpenLink {
  slot: number;
  /** Whether it was requested from an origin that the account knows. */
  known: boolean;
  /** The id of the request that it was created for. */
  request: string | null;
}

const slots = [1, 2, 3] as const;

/**
 * The slot of a new link. Undefined when no link is created, because three valid ones are in the owner's
 * mailbox already. A request from an unknown origin replaces no other link. One from a known origin replaces
 * the oldest link of unknown origins, or else the oldest of all.
 * @param open oldest first
 */
export function slotFor(open: readonly OpenLink[], newLink: Omit<OpenLink, "slot">): number | undefined {
  // A retried job of the same request gets the same slot.
  const same = open.find(({ request }) => request !== null && request === newLink.request);
  if (same !== undefined) return same.slot;
  const free = slots.find((slot) => open.every((link) => link.slot !== slot));
  if (free !== undefined || !newLink.known) return free;
  return (open.find(({ known }) => !known) ?? open[0])?.slot;
}
