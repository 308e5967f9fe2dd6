// Answers compressed, when the client asks for it. Only what is asked for by GET: no such answer carries a secret (tokens,
// webhooks' secrets and download links are answered to POST), so its length can tell nobody one. No credential travels by
// itself either: a foreign page cannot have a browser send somebody's token, which attacks by length (BREACH) need.
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** The server's order, where the client has none. */
const codings = ["br", "gzip"] as const;
export type Coding = (typeof codings)[number];

/** What fits into one packet gains nothing. */
export const compressedBytesMin = 1_400;
/** Of a header nobody needs more; the rest is not read. */
const namedMax = 20;

/** @returns the best coding that `Accept-Encoding` allows, undefined for none */
export function codingFor(header: string | undefined): Coding | undefined {
  if (header === undefined || header === "") return undefined;
  const weights = new Map<string, number>();
  for (const part of header.split(",", namedMax)) {
    const [name = "", ...parameters] = part.split(";").map((each) => each.trim().toLowerCase());
    weights.set(name, weightIn(parameters));
  }
  const weightOf = (name: string) => weights.get(name) ?? weights.get("*") ?? 0;
  const [best] = [...codings].sort((a, b) => weightOf(b) - weightOf(a));
  // Of two that are liked alike, sorting keeps ours in front.
  return best !== undefined && weightOf(best) > 0 && weightOf(best) >= (weights.get("identity") ?? 0)
    ? best
    : undefined;
}

function weightIn(parameters: readonly string[]): number {
  const text = parameters.find((each) => each.startsWith("q="))?.slice(2);
  if (text === undefined) return 1;
  const weight = Number(text);
  return text !== "" && weight >= 0 && weight <= 1 ? weight : 0;
}

const inBrotli = promisify(brotliCompress);
const inGzip = promisify(gzip);

/** In a thread of libuv's pool, so that the event loop goes on. @param effort `once`: made once and kept */
export function compress(bytes: Buffer, coding: Coding, effort: "once" | "each"): Promise<Buffer> {
  if (coding === "gzip") return inGzip(bytes, { level: effort === "once" ? 9 : 4 });
  return inBrotli(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: effort === "once" ? 9 : 3,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}
