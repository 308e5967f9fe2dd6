// A checkpoint document: signed as a whole, and nothing in it can be altered, added or taken away.
import { createHash, createPublicKey, verify } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import canonicalize from "canonicalize";
import {
  type Checkpoint,
  hashOf,
  headsMax,
  readCheckpoint,
  signDocument,
  tenantMarker,
} from "../../../../services/audit/checkpoints/checkpoint.rules.ts";
import { keyIdOf, readPublicKey, SigningKey } from "../../../../services/audit/checkpoints/signing-key.ts";

const key = new SigningKey("k3Vq9ZtB7wLx2NfRmYp5HsDcJgUa8Ee4");
const keys = new Map([[key.id, key.publicKey]]);
const head = (tenant: number) => ({ tenant_id: tenant, seq: 5, hash: "ab".repeat(32), verified: true });
const facts: Checkpoint = {
  v: 1,
  number: 3,
  at: "2026-11-21T22:15:00.000Z",
  installation: "https://records.example",
  previous: "cd".repeat(32),
  heads: [head(1), head(12)],
};
const line = signDocument(facts, key);

describe("the key", () => {
  it("follows from the secret alone, and another secret gives another key", () => {
    expect(new SigningKey("k3Vq9ZtB7wLx2NfRmYp5HsDcJgUa8Ee4").id).toBe(key.id);
    expect(new SigningKey("k3Vq9ZtB7wLx2NfRmYp5HsDcJgUa8Ee5").id).not.toBe(key.id);
  });
  it("has the SHA-256 of its public half as its id, as DER: what openssl pkey -pubin -outform DER writes", () => {
    const { x = "" } = key.publicKey.export({ format: "jwk" });
    const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), Buffer.from(x, "base64url")]);
    expect(createHash("sha256").update(der).digest("hex")).toBe(key.id);
  });
  it.each(["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "x".repeat(5_000)])(
    "is not read out of what is none",
    (text) => expect(readPublicKey(text)).toBeUndefined(),
  );
  it("is read out of its PEM", () => {
    expect(keyIdOf(readPublicKey(key.publicText) ?? key.publicKey)).toBe(key.id);
  });
});

describe("a document", () => {
  it("is one line of canonical JSON that tells what was signed, and by which key", () => {
    expect(line).not.toContain("\n");
    const document = JSON.parse(line);
    expect(canonicalize(document)).toBe(line);
    expect(document).toEqual({ ...facts, key_id: key.id, signature: expect.any(String) });
  });
  it("is signed without its signature, so that anybody can verify it with the public key", () => {
    const { signature, ...rest } = JSON.parse(line);
    const text = Buffer.from(canonicalize(rest) ?? "");
    expect(verify(null, text, createPublicKey(key.publicText), Buffer.from(signature, "base64"))).toBe(true);
  });
  it("is read back whole", () => {
    expect(readCheckpoint(line, keys)).toMatchObject(facts);
  });
  it("of a tenant is found by its trace, and by no other tenant's", () => {
    expect(line).toContain(tenantMarker(12));
    expect(line).not.toContain(tenantMarker(2));
  });
  it("with as many heads as it may hold is smaller than 100 kB", () => {
    const heads = Array.from({ length: headsMax }, () => ({
      ...head(2 ** 31 - 1),
      seq: 2 ** 40,
      verified: false,
    }));
    expect(signDocument({ ...facts, heads }, key).length).toBeLessThan(100_000);
  });
  it.each([
    ["another number", (text: string) => text.replace('"number":3', '"number":4')],
    ["another hash", (text: string) => text.replace("abab", "abac")],
    [
      "a head taken away",
      (text: string) => text.replace(/,\{"hash":"(?:ab)+","seq":5,"tenant_id":12,"verified":true\}/, ""),
    ],
    ["another previous document", (text: string) => text.replace("cdcd", "cdce")],
    ["a space", (text: string) => text.replace('"v":1', '"v": 1')],
    ["a key more", (text: string) => text.replace('{"at"', '{"a":1,"at"')],
    ["its end missing", (text: string) => text.slice(0, -1)],
    ["its beginning missing", (text: string) => text.slice(10)],
    ["no signature", (text: string) => text.replace(/,"signature":"[^"]+"/, "")],
    ["a signature of zeros", (text: string) => text.replace(/[A-Za-z0-9+/]{86}==/, `${"A".repeat(86)}==`)],
    ["nothing at all", () => ""],
  ])("with %s is none", (_what, alter) => {
    const altered = alter(line);
    expect(altered).not.toBe(line);
    expect(readCheckpoint(altered, keys)).toBeUndefined();
  });
  it("of an unknown key is none, nor is one that claims to be of ours", () => {
    const stranger = new SigningKey("another secret of thirty-two characters");
    const theirs = signDocument(facts, stranger);
    expect(readCheckpoint(theirs, keys)).toBeUndefined();
    expect(readCheckpoint(theirs.replace(stranger.id, key.id), keys)).toBeUndefined();
    expect(readCheckpoint(theirs, new Map([...keys, [stranger.id, stranger.publicKey]]))).toBeDefined();
  });
  it("is no excerpt, though the same key signs both", () => {
    const { previous: _previous, ...rest } = facts;
    expect(readCheckpoint(signDocument({ ...rest, excerpt_of: hashOf(line) }, key), keys)).toBeUndefined();
  });
});
