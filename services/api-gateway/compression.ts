// Compresses answers when the client asks for it. Only answers to GET are compressed: none of them carries a secret (tokens,
// webhook secrets and download links are answers to POST), so their length reveals none. Attacks by length (BREACH) also need
// a browser that sends a credential by itself, and a foreign page cannot make it send a token.
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** The order of the server, if the client prefers none. */
const codings = ["br", "gzip"] as const;
export type Coding = (typeof codings)[number];

/** A body that fits into one packet gains nothing. */
export const compressedBytesMin = 1_400;
/** The rest of a longer header is ignored. */
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
  // Sorting is stable, so our own order decides between equal weights.
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

/** Runs in a thread of the libuv pool. @param effort `once`: the result is made once and kept */
export function compress(bytes: Buffer, coding: Coding, effort: "once" | "each"): Promise<Buffer> {
  if (coding === "gzip") return inGzip(bytes, { level: effort === "once" ? 9 : 4 });
  return inBrotli(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: effort === "once" ? 9 : 3,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}
