// What a receiver's answer means.

/** Null for success: any 2xx. Redirects are not followed, so they are none. */
export function answerFault(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? "redirect" : "unexpected_status";
}

/**
 * What 429 and 503 may ask for.
 * @param header seconds, or a date as HTTP writes it; @param nowMs since 1970
 */
export function retryAfterSeconds(
  status: number,
  header: string | undefined,
  nowMs: number,
): number | undefined {
  if ((status !== 429 && status !== 503) || header === undefined) return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - nowMs) / 1000));
}
