// Signed checkpoints, from the log to the folder and to the program outside: whoever owns the database can write a log anew so
// that nothing in the database tells, and is found all the same.
import { createHash } from "node:crypto";
import { appendFile, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { makeClinic, makeDepartment } from "../../support/tenancy.ts";
import {
  asOwner,
  checkpoint,
  documentsIn,
  exportLog,
  filesIn,
  folderOf,
  linesIn,
  newestHead,
  prove,
  rehash,
} from "../../support/checkpoint-scene.ts";

type Clinic = Awaited<ReturnType<typeof makeClinic>>;

let service: TestService;
let superadmin: string;
let folder: string;
/** Of a clinic that nobody forges. */
let whole: Clinic;

beforeAll(async () => {
  // No run but those the tests ask for.
  service = await startService({ AUDIT_CHECKPOINT_MINUTES: "60" });
  folder = folderOf(service);
  // The one that follows the start by some seconds.
  await eventually(async () => (await documentsIn(folder).catch(() => [])).length > 0);
  superadmin = await service.signIn("superadmin");
  whole = await filled();
});
afterAll(() => service.stop());

/** A clinic with a dozen entries. */
async function filled(): Promise<Clinic> {
  const clinic = await makeClinic(service, superadmin);
  for (let i = 0; i < 8; i++) await makeDepartment(service, clinic.token);
  return clinic;
}

const headOf = async (tenantId: number) => {
  const { rows } = await service.database.owner.query(
    "select seq::integer, encode(hash, 'hex') as hash from audit_heads where tenant_id = $1",
    [tenantId],
  );
  return rows[0];
};
/** Lines are written by the hundred. */
const logged = (text: string) => eventually(async () => service.process.output().includes(text));
const verify = async (clinic: Clinic) =>
  (await service.call("GET", "/api/admin/audit/verify", { token: clinic.token })).body;
const proveOutside = async (clinic: Clinic, checkpoints?: readonly string[]) =>
  prove({
    keys: await filesIn(folder, ".pem"),
    checkpoints: checkpoints ?? (await filesIn(folder, ".jsonl")),
    exports: [await exportLog(service, clinic.token)],
  });

describe("a run", () => {
  it("brings the heads of all logs into the folder, for nobody else to read", async () => {
    await checkpoint(service);
    for (const id of [whole.id, 1]) {
      expect(await newestHead(folder, id)).toEqual({ tenant_id: id, ...(await headOf(id)), verified: true });
    }
    const [file = ""] = await filesIn(folder, ".jsonl");
    expect(file).toMatch(/checkpoints-\d{4}-\d\d\.jsonl$/);
    expect([(await stat(folder)).mode & 0o777, (await stat(file)).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  it("numbers documents, and each names the one before", async () => {
    await makeDepartment(service, whole.token);
    await checkpoint(service);
    const lines = await linesIn(folder);
    expect(lines.length).toBeGreaterThan(1);
    const hashes = lines.map((line) => createHash("sha256").update(line).digest("hex"));
    for (const [at, { number, previous, installation }] of (await documentsIn(folder)).entries()) {
      expect([number, previous]).toEqual([at + 1, hashes[at - 1] ?? null]);
      expect(installation).toBe("http://records.test");
    }
  });

  it("signs those alone that have grown, and nothing where none has", async () => {
    await checkpoint(service);
    const before = await linesIn(folder);
    await checkpoint(service);
    expect(await linesIn(folder)).toEqual(before);
    await makeDepartment(service, whole.token);
    await checkpoint(service);
    const after = await documentsIn(folder);
    expect(after.length).toBe(before.length + 1);
    expect(after.at(-1)?.heads.map(({ tenant_id: id }) => id)).toEqual([whole.id]);
  });

  it("goes on after a line that a crash has cut short", async () => {
    const [file = ""] = await filesIn(folder, ".jsonl");
    await appendFile(file, (await linesIn(folder)).at(-1)?.slice(0, 300) ?? "");
    await makeDepartment(service, whole.token);
    await checkpoint(service);
    expect(JSON.parse((await linesIn(folder)).at(-1) ?? "").heads).toMatchObject([{ tenant_id: whole.id }]);
    expect((await proveOutside(whole)).code).toBe(0);
  });

  it("goes on with the numbers of the folder where the database has lost its own", async () => {
    const last = (await documentsIn(folder)).at(-1)?.number ?? 0;
    await service.database.owner.query("delete from audit_checkpoints");
    await makeDepartment(service, whole.token);
    await checkpoint(service);
    expect((await documentsIn(folder)).at(-1)?.number).toBe(last + 1);
    await logged("the database has lost checkpoints that the folder has");
    expect((await proveOutside(whole)).code).toBe(0);
  });
});

describe("the program outside", () => {
  it("finds a log and its checkpoints whole", async () => {
    await checkpoint(service);
    const entries = (await headOf(whole.id)).seq;
    const { code, says } = await proveOutside(whole);
    const documents = (await linesIn(folder)).length;
    expect({ code, says }).toEqual({
      code: 0,
      says: {
        checkpoints: `${documents} documents, as signed`,
        [whole.id]: expect.stringMatching(new RegExp(`^\\d+ entries, as signed up to ${entries}$`)),
      },
    });
    expect(Number.parseInt(says[whole.id] ?? "", 10)).toBeGreaterThanOrEqual(entries);
  });

  it("imports nothing but what Node.js brings", async () => {
    const text = await readFile(join(import.meta.dirname, "../../../docs/check-audit.mjs"), "utf8");
    const imports = [...text.matchAll(/from "([^"]+)"|import\("([^"]+)"/g)].map(
      (found) => found[1] ?? found[2],
    );
    expect(imports).toEqual(["node:crypto", "node:fs"]);
  });

  it("has the interface's own excerpts for checkpoints too, with the keys it gives", async () => {
    const answer = await service.call("GET", "/api/admin/audit/checkpoints?limit=100", {
      token: whole.token,
    });
    const [excerpts, key] = [join(folder, "../excerpts.json"), join(folder, "../key.txt")];
    await writeFile(excerpts, JSON.stringify(answer.body));
    await writeFile(key, answer.body.keys[0].public_key);
    const exports = [await exportLog(service, whole.token)];
    expect((await prove({ keys: [key], checkpoints: [excerpts], exports })).code).toBe(0);
    await writeFile(excerpts, JSON.stringify(answer.body).replace(/"seq":\d+/, '"seq":2'));
    expect((await prove({ keys: [key], checkpoints: [excerpts], exports })).code).toBe(1);
  });

  it.each([
    ["without a key", { keys: [] }, 1],
    ["without an export", { exports: [] }, 1],
    ["without a checkpoint", { checkpoints: [] }, 1],
  ])("%s proves nothing", async (_what, missing, code) => {
    const all = {
      keys: await filesIn(folder, ".pem"),
      checkpoints: await filesIn(folder, ".jsonl"),
      exports: [await exportLog(service, whole.token)],
    };
    expect((await prove(all)).code).toBe(0);
    expect((await prove({ ...all, ...missing })).code).toBe(code);
  });

  const altered: [string, (lines: string[]) => string[], RegExp][] = [
    ["a document taken away", (lines) => lines.toSpliced(1, 1), /^3 does not follow 1$/],
    ["the first document taken away", (lines) => lines.slice(1), /^2 does not follow 0$/],
    ["two documents with each other's number", (lines) => swap(lines), /is not signed/],
    [
      "a forged signature",
      ([first = "", ...rest]) => [first.replace(/"signature":".{6}/, '"signature":"AAAAAA'), ...rest],
      /^1 is not signed/,
    ],
    [
      "another hash",
      ([first = "", ...rest]) => [first.replace(/"hash":"......"?/, '"hash":"abcdef'), ...rest],
      /^1 is not signed/,
    ],
    [
      "a head said to be verified or not",
      ([first = "", ...rest]) => [first.replace("true", "false"), ...rest],
      /^1 is not signed/,
    ],
  ];
  const swap = (lines: string[]) =>
    lines.map((line) =>
      line.replace(/"number":([12]),/, (_all, number) => `"number":${number === "1" ? 2 : 1},`),
    );
  it.each(altered)("finds %s", async (_what, alter, sentence) => {
    const path = join(folder, "../altered.jsonl");
    await writeFile(path, alter(await linesIn(folder)).join("\n"));
    const { code, says } = await proveOutside(whole, [path]);
    expect([code, says.checkpoints]).toEqual([1, expect.stringMatching(sentence)]);
  });
});

describe("the database's owner, who hashes a whole log anew, is found", () => {
  interface Found {
    reasons: string[];
    firstBad: number | null;
    outside: Awaited<ReturnType<typeof prove>>;
  }
  const found = async (clinic: Clinic): Promise<Found> => {
    const { ok, bad, first_bad_seq: firstBad } = await verify(clinic);
    expect(ok).toBe(bad.length === 0);
    const reasons = bad.map(({ reason }: { reason: string }) => reason);
    return { reasons: [...new Set<string>(reasons)], firstBad, outside: await proveOutside(clinic) };
  };

  it("to say that somebody else did it", async () => {
    const clinic = await filled();
    await checkpoint(service);
    const { seq } = await headOf(clinic.id);
    await asOwner(
      service,
      `update audit_entries set user_id = 1 where tenant_id = ${clinic.id} and seq = 3`,
      rehash(clinic.id, 3),
    );
    const { reasons, firstBad, outside } = await found(clinic);
    expect([reasons, firstBad]).toEqual([["checkpoint"], seq]);
    expect(outside.code).toBe(1);
    expect(outside.says[clinic.id]).toMatch(new RegExp(`^entry ${seq} is not as checkpoint \\d+ has it$`));
  });

  it("and who has the log grow on before anybody looks", async () => {
    const clinic = await filled();
    await checkpoint(service);
    const { seq } = await headOf(clinic.id);
    await asOwner(
      service,
      `update audit_entries set ip = '::1' where tenant_id = ${clinic.id} and seq = 2`,
      rehash(clinic.id, 1),
    );
    for (let i = 0; i < 3; i++) await makeDepartment(service, clinic.token);
    const { reasons, firstBad, outside } = await found(clinic);
    expect([reasons, firstBad, outside.code]).toEqual([["checkpoint"], seq, 1]);
  });

  it("to be rid of the last entries", async () => {
    const clinic = await filled();
    await checkpoint(service);
    const { seq } = await headOf(clinic.id);
    await asOwner(
      service,
      `delete from audit_entries where tenant_id = ${clinic.id} and seq > 5`,
      `update audit_heads h set seq = 5, hash = e.hash from audit_entries e
        where h.tenant_id = ${clinic.id} and e.tenant_id = h.tenant_id and e.seq = 5`,
    );
    const { bad } = await verify(clinic);
    expect(bad).toEqual([{ seq, to_seq: seq, reason: "checkpoint" }]);
    const outside = await proveOutside(clinic);
    expect([outside.code, outside.says[clinic.id]]).toEqual([
      1,
      expect.stringMatching(/is not as checkpoint/),
    ]);
  });

  it("to be rid of all of it, by the next run at the latest", async () => {
    const clinic = await filled();
    await checkpoint(service);
    const { seq } = await headOf(clinic.id);
    await asOwner(
      service,
      `delete from audit_entries where tenant_id = ${clinic.id}`,
      `delete from audit_heads where tenant_id = ${clinic.id}`,
    );
    expect((await verify(clinic)).bad).toEqual([{ seq, to_seq: seq, reason: "checkpoint" }]);
    await checkpoint(service);
    expect(await newestHead(folder, clinic.id)).toMatchObject({ verified: false });
    await logged("an audit log does not continue what was signed of it");
  });

  it("also if the database's own notes of what was signed are made to fit", async () => {
    const clinic = await filled();
    await checkpoint(service);
    await asOwner(
      service,
      `update audit_entries set ip = '::1' where tenant_id = ${clinic.id} and seq = 2`,
      rehash(clinic.id, 1),
      `update audit_proofs p set hash = h.hash from audit_heads h where p.tenant_id = ${clinic.id} and h.tenant_id = p.tenant_id`,
      "delete from audit_checkpoints",
    );
    await checkpoint(service);
    expect(await newestHead(folder, clinic.id)).toMatchObject({ verified: false });
    const health = await service.call("GET", "/api/admin/health", { token: clinic.token });
    expect(health.body.audit_ok).toBe(false);
    const { outside } = await found(clinic);
    expect(outside.code).toBe(1);
  });

  it("and what is signed after that is signed as it is, with the old word beside it", async () => {
    const clinic = await filled();
    await checkpoint(service);
    const { seq } = await headOf(clinic.id);
    await asOwner(
      service,
      `update audit_entries set ip = '::1' where tenant_id = ${clinic.id} and seq = 2`,
      rehash(clinic.id, 1),
    );
    for (const verified of [false, true]) {
      await makeDepartment(service, clinic.token);
      await checkpoint(service);
      expect(await newestHead(folder, clinic.id)).toMatchObject({ ...(await headOf(clinic.id)), verified });
    }
    const { bad, checkpoint_seq: newest } = await verify(clinic);
    expect(bad).toEqual([{ seq, to_seq: seq, reason: "checkpoint" }]);
    expect(newest).toBe(seq + 2);
  });

  it("though nobody else's log is", async () => {
    await checkpoint(service);
    const { ok, checkpoints } = await verify(whole);
    expect([ok, checkpoints > 2]).toEqual([true, true]);
    expect((await proveOutside(whole)).code).toBe(0);
  });
});

describe("an entry that is altered without hashing anew", () => {
  it("is found by the proof in the background, long after it was signed", async () => {
    const clinic = await filled();
    await checkpoint(service);
    const health = async () => (await service.call("GET", "/api/admin/health", { token: clinic.token })).body;
    expect(await health()).toMatchObject({ audit_ok: true });
    await asOwner(service, `update audit_entries set ip = '::1' where tenant_id = ${clinic.id} and seq = 2`);
    await checkpoint(service);
    expect(await health()).toMatchObject({ audit_ok: true });
    await service.database.owner.query(
      "update audit_proofs set proved_at = now() - interval '25 hours' where tenant_id = $1",
      [clinic.id],
    );
    await checkpoint(service);
    expect(await health()).toMatchObject({ audit_ok: false });
    await asOwner(
      service,
      `update audit_entries set ip = '127.0.0.1' where tenant_id = ${clinic.id} and seq = 2`,
    );
    expect((await verify(clinic)).ok).toBe(true);
    expect(await health()).toMatchObject({ audit_ok: true, audit_checkpoint_at: expect.any(String) });
  });
});
