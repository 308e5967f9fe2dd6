// What may become a master key, and what may not.
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { readNewKey } from "../../../../services/crypto/new-key.rules.ts";

const key = Buffer.from("9f3c0a71d2e84b5566f07e19c8ab3d42107bd9e5f4832c6da1b05e97ec3846af", "hex");
const length = "the key must be 32 bytes as base64, base64url or hex";
const random = "the key is not random";

describe("32 random bytes are a key", () => {
  it.each([
    ["hex", key.toString("hex")],
    ["hex in capitals", key.toString("hex").toUpperCase()],
    ["base64", key.toString("base64")],
    ["base64 without padding", key.toString("base64").replace("=", "")],
    ["base64url", key.toString("base64url")],
    ["base64url with padding", `${key.toString("base64url")}=`],
  ])("as %s", (_form, text) => {
    expect(readNewKey(text)).toEqual({ key });
  });

  it("however they fall", () => {
    for (let i = 0; i < 2_000; i++) {
      const bytes = randomBytes(32);
      for (const form of ["hex", "base64", "base64url"] as const)
        expect(readNewKey(bytes.toString(form))).toEqual({ key: bytes });
    }
  });
});

describe("no key", () => {
  it.each([
    ["nothing", ""],
    ["a word", "secret"],
    ["31 bytes in hex", "ab".repeat(31)],
    ["33 bytes in hex", key.toString("hex") + "ab"],
    ["31 bytes in base64", key.subarray(1).toString("base64")],
    ["33 bytes in base64", Buffer.concat([key, key.subarray(0, 1)]).toString("base64")],
    ["16 bytes", key.subarray(16).toString("base64")],
    ["64 bytes in hex", key.toString("hex") + key.toString("hex")],
    ["a space before", ` ${key.toString("hex")}`],
    ["a line after", `${key.toString("base64")}\n`],
    ["two paddings", `${key.toString("base64")}=`],
    ["both alphabets in one text", `+_${key.toString("hex").slice(0, 41)}`],
    ["bits that are no key's at the end", `${key.toString("base64url").slice(0, 42)}9`],
    ["a letter that is none", `g${key.toString("hex").slice(1)}`],
    ["32 letters", "correct-horse-battery-staple-421"],
  ])("%s", (_what, text) => {
    expect(readNewKey(text)).toEqual({ fault: length });
  });

  it.each([
    ["zeros", Buffer.alloc(32)],
    ["one byte again and again", Buffer.alloc(32, 0xa7)],
    ["two bytes again and again", Buffer.alloc(32, "ab")],
    ["eight bytes again and again", Buffer.alloc(32, key.subarray(0, 8))],
    ["sixteen bytes twice", Buffer.alloc(32, key.subarray(0, 16))],
    ["counting up", Buffer.from(Array.from({ length: 32 }, (_, i) => i))],
    ["counting down over the edge", Buffer.from(Array.from({ length: 32 }, (_, i) => 10 - i))],
    ["counting by seven", Buffer.from(Array.from({ length: 32 }, (_, i) => i * 7))],
    ["few different bytes", Buffer.from("aaabbbccaabcacbbabcdabacbbacaccb")],
  ])("%s", (_what, bytes) => {
    expect(readNewKey(bytes.toString("hex"))).toEqual({ fault: random });
    expect(readNewKey(bytes.toString("base64"))).toEqual({ fault: random });
  });
});
