// The folder of checkpoints: only added to, read in whole lines, from where the reading ended.
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { CheckpointFolder, type Position } from "../../../../services/audit/checkpoints/checkpoint-folder.ts";
import { type Head, signDocument } from "../../../../services/audit/checkpoints/checkpoint.rules.ts";
import { FolderState, signedHashes } from "../../../../services/audit/checkpoints/folder-state.ts";
import { SigningKey } from "../../../../services/audit/checkpoints/signing-key.ts";

let path: string;
let folder: CheckpointFolder;
beforeEach(async () => {
  path = join(await mkdtemp(join(tmpdir(), "records-test-")), "deep", "checkpoints");
  folder = new CheckpointFolder(path);
});
afterEach(() => rm(join(path, "../.."), { recursive: true }));

const october = "2026-10-31T23:59:59.000Z";
const november = "2026-11-01T00:00:00.000Z";
const linesOf = async (after?: Position) => {
  const found: string[] = [];
  let next = after;
  for await (const each of folder.lines(after)) {
    found.push(each.line);
    next = each.next;
  }
  return { found, next };
};

describe("files", () => {
  it("hold a month each, and are read in their order", async () => {
    await folder.append("b", november);
    await folder.append("a", october);
    await folder.append("c", november);
    expect((await readdir(path)).sort()).toEqual(["checkpoints-2026-10.jsonl", "checkpoints-2026-11.jsonl"]);
    expect((await linesOf()).found).toEqual(["a", "b", "c"]);
  });

  it("are read on from where the reading ended, also into the next one", async () => {
    expect(await linesOf()).toEqual({ found: [], next: undefined });
    await folder.append("ä", october);
    const first = await linesOf();
    expect(first.found).toEqual(["ä"]);
    expect((await linesOf(first.next)).found).toEqual([]);
    await folder.append("b", october);
    await folder.append("c", november);
    expect((await linesOf(first.next)).found).toEqual(["b", "c"]);
  });

  it("show a line when it is whole, and after one that was cut short the next stands by itself", async () => {
    await folder.append("whole", october);
    await appendFile(join(path, "checkpoints-2026-10.jsonl"), "half of a li");
    const first = await linesOf();
    expect(first.found).toEqual(["whole"]);
    await folder.append("next", october);
    expect((await linesOf(first.next)).found).toEqual(["half of a li", "next"]);
    expect(await readFile(join(path, "checkpoints-2026-10.jsonl"), "utf8")).toBe(
      "whole\nhalf of a li\nnext\n",
    );
  });

  it("with lines longer than a part of what is read at once, or than any document, are read all the same", async () => {
    const [long, endless] = ["x".repeat(900_000), "y".repeat(5_000_000)];
    for (const line of [long, long, endless, "end"]) await folder.append(line, october);
    const { found } = await linesOf();
    expect(found.map((line) => line.length < 1_000_000)).toEqual([true, true, true, true]);
    expect([found[0], found[1], found[3]]).toEqual([long, long, "end"]);
  });
});

describe("keys", () => {
  it("lie beside, are never written over, and anything else there is none", async () => {
    const key = new SigningKey("W6hTn1QyXo0SvIbKzGjMlPdFr3CuAi7R");
    expect(await folder.keys()).toEqual(new Map());
    await folder.keepKey(key);
    await folder.keepKey(key);
    await writeFile(join(path, "note.pem"), "nothing");
    expect([...(await folder.keys()).keys()]).toEqual([key.id]);
  });
});

describe("what was signed", () => {
  const key = new SigningKey("W6hTn1QyXo0SvIbKzGjMlPdFr3CuAi7R");
  const keys = new Map([[key.id, key.publicKey]]);
  const stranger = new SigningKey("k3Vq9ZtB7wLx2NfRmYp5HsDcJgUa8Ee4");
  const head = (seq: number, more: Partial<Head> = {}): Head => ({
    tenant_id: 7,
    seq,
    hash: `${seq}`.repeat(64),
    verified: true,
    ...more,
  });
  const put = (number: number, heads: Head[], by = key) =>
    folder.append(
      signDocument({ v: 1, number, at: october, installation: "x", previous: null, heads }, by),
      october,
    );

  it("is of each tenant the newest head, and grows with the folder", async () => {
    const kept = new FolderState(folder, keys);
    await kept.refresh();
    expect([kept.last, kept.heads.size]).toEqual([undefined, 0]);
    await put(1, [head(1), head(3, { tenant_id: 8 })]);
    await put(2, [head(2)]);
    await kept.refresh();
    await put(3, [head(4, { verified: false })]);
    await put(4, [head(9)], stranger);
    await kept.refresh();
    expect(kept.last).toMatchObject({ number: 3, at: october });
    expect([...kept.heads.values()]).toEqual([head(4, { verified: false }), head(3, { tenant_id: 8 })]);
  });

  it("of a tenant counts by its first word on an entry, and not if it was signed as unproved or by a stranger", async () => {
    await put(1, [head(5), head(1, { tenant_id: 77 })]);
    await put(2, [head(2)]);
    await put(3, [head(5, { hash: "ff".repeat(32) })]);
    await put(4, [head(6, { verified: false })]);
    await put(5, [head(7)], stranger);
    expect([...(await signedHashes(folder, keys, 7))]).toEqual([
      [2, "2".repeat(64)],
      [5, "5".repeat(64)],
    ]);
    expect((await signedHashes(folder, keys, 1)).size).toBe(0);
  });
});
