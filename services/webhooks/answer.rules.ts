// Interprets a receiver's answer.

/** Null for success (any 2xx). Redirects are not followed and count as failures. */
export function answerFault(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? "redirect" : "unexpected_status";
}

/**
 * The delay that a 429 or 503 requests.
 * @param header seconds or an HTTP date
 * @param nowMs since 1970
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
