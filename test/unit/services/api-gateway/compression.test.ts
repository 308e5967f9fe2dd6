// Which coding a client is answered in, by its own words (RFC 9110, 12.5.3).
import { expect, it } from "@jest/globals";
import { codingFor } from "../../../../services/api-gateway/compression.ts";

it.each([
  [undefined, undefined],
  ["", undefined],
  ["gzip", "gzip"],
  ["br", "br"],
  ["gzip, deflate, br, zstd", "br"],
  ["GZIP", "gzip"],
  ["gzip;q=1.0, br;q=0.5", "gzip"],
  ["gzip ; q=0.5 , br;q=0.5", "br"],
  ["*", "br"],
  ["*;q=0.5, br;q=0", "gzip"],
  ["identity", undefined],
  ["identity;q=1, gzip;q=0.5", undefined],
  ["identity;q=0.1, gzip;q=0.5", "gzip"],
  ["gzip;q=0", undefined],
  ["gzip;q=0, br;q=0.000", undefined],
  ["gzip;q=2", undefined],
  ["gzip;q=", undefined],
  ["gzip;q=x", undefined],
  ["deflate, zstd, compress", undefined],
  [`${"x,".repeat(19)}gzip`, "gzip"],
  [`${"x,".repeat(20)}gzip`, undefined],
] as const)("%j: %s", (header, coding) => expect(codingFor(header)).toBe(coding));
