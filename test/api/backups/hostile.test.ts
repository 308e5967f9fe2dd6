// Archives that somebody changed, cut, mixed up or made himself: refused before anything changes, with the reason in the job.
import { randomInt } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  archiveKeys,
  archiveNameOf,
  type Manifest,
  readManifest,
  writeManifest,
} from "../../../services/backups/archive/manifest.ts";
import { nowhere, readArchive } from "../../../services/backups/archive/read-archive.ts";
import { tarEnd, tarFile } from "../../../services/backups/archive/tar.ts";
import { sealing } from "../../../services/shared/archive/sealed-stream.ts";
import { unwrapArchiveKey, unwrapMasterKey } from "../../../services/shared/sealing/wrapping.ts";
import { FolderStore } from "../../../mixins/store/folder-store.ts";
import { startService, type TestService } from "../../support/service.ts";
import { backUp, type Begun, type Clinic, makePatient, openClinic, restore, tableSums } from "./scene.ts";

const flips = 200;
let service: TestService;
let superadmin: string;
let clinic: Clinic;
let made: Begun;
let root: string;
let elsewhere: string;
beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
  clinic = await openClinic(service, superadmin);
  for (let nth = 0; nth < 20; nth++) await makePatient(service, clinic.token, `Patient ${nth}`);
  // What does not compress, so that the archive has several chunks.
  await service.database.owner.query(
    `update tenants set settings = jsonb_set(settings::jsonb, '{padding}', to_jsonb(
       (select string_agg(md5(random()::text), '') from generate_series(1, 40000))))::json where id = $1`,
    [clinic.id],
  );
  made = await backUp(service, clinic.token);
  root = join(service.database.folder, "data", "backups");
  elsewhere = await mkdtemp(join(tmpdir(), "records-hostile-"));
});
afterAll(async () => {
  await service?.stop();
  await rm(elsewhere, { recursive: true, force: true });
});

const pathOf = (id: string, part: "data" | "manifest") => join(root, "backups", id, part);
const never = () => new AbortController().signal;

/** As whoever holds BOOT_SECRET and the database can. */
async function keysOf(id: string) {
  const { rows } = await service.database.owner.query(
    `select a.wrapped, a.tenant_id, a.master_version, m.wrapped as master from archive_keys a
     join master_keys m on m.version = a.master_version where a.backup_id = $1`,
    [id],
  );
  const [{ wrapped, tenant_id: tenantId, master_version: version, master }] = rows;
  const name = archiveNameOf({ backup_id: id, tenant_id: tenantId });
  const key = unwrapArchiveKey(
    unwrapMasterKey(service.settings.BOOT_SECRET ?? "", version, master),
    name,
    wrapped,
  );
  return { name, ...archiveKeys(key) };
}

async function manifestOf(id: string): Promise<Manifest> {
  return readManifest(await readFile(pathOf(id, "manifest"))).manifest;
}

const backupsOf = async (tenantId: number): Promise<string[]> => {
  const text = "select id from backups where tenant_id = $1 order by id";
  return (await service.database.owner.query(text, [tenantId])).rows.map(({ id }) => id);
};

/** Puts a changed copy in the archive's place, restores, and puts the right one back. */
async function refused(
  part: "data" | "manifest",
  change: (path: string) => Promise<void>,
): Promise<string | null> {
  const path = pathOf(made.backup_id, part);
  const kept = join(elsewhere, "kept");
  await cp(path, kept);
  try {
    await change(path);
    const before = await tableSums(service.database.owner, `tenant_id = ${clinic.id}`);
    const listed = await backupsOf(clinic.id);
    const job = await restore(service, clinic.token, made.backup_id);
    expect(job.status).toBe("failed");
    expect(await tableSums(service.database.owner, `tenant_id = ${clinic.id}`)).toEqual(before);
    expect((await service.database.owner.query("select from tenant_freezes")).rowCount).toBe(0);
    // Not even the present was kept: an archive is proved before anything is begun.
    expect(await backupsOf(clinic.id)).toEqual(listed);
    return job.error_code;
  } finally {
    await cp(kept, path);
  }
}

/** Of the stored form: see services/shared/archive/sealed-stream.ts. */
const headBytes = 44;
const sealedChunkBytes = 256 * 1024 + 16;
function wholeChunk(chunk: Buffer | undefined): Buffer {
  if (chunk === undefined) throw new Error("the archive has too few chunks");
  return chunk;
}

const flipped = (bytes: Buffer, at: number): Buffer => {
  const other = Buffer.from(bytes);
  other[at] = (other[at] ?? 0) ^ (1 << randomInt(8));
  return other;
};

describe("a changed archive", () => {
  it(`of ${flips} flipped bits none is read to its end`, async () => {
    const store = new FolderStore(join(elsewhere, "flips"));
    const { data, manifest: code } = await keysOf(made.backup_id);
    const manifest = await manifestOf(made.backup_id);
    const [bytes, head] = [
      await readFile(pathOf(made.backup_id, "data")),
      await readFile(pathOf(made.backup_id, "manifest")),
    ];
    const place = join(elsewhere, "flips", "backups", made.backup_id);
    await mkdir(place, { recursive: true });
    const read = () => readArchive(store, manifest, data, nowhere, () => {}, never());
    await writeFile(join(place, "data"), bytes);
    await read();
    const survived: string[] = [];
    for (let nth = 0; nth < flips; nth++) {
      const at = randomInt(bytes.length);
      await writeFile(join(place, "data"), flipped(bytes, at));
      await read().then(
        () => survived.push(`byte ${at}`),
        (error: unknown) => expect(error).toMatchObject({ name: "ArchiveDamaged" }),
      );
      const inManifest = randomInt(head.length);
      try {
        // Spaces between the words may be other ones: then nothing that is said has changed.
        const proved = readManifest(flipped(head, inManifest)).prove(code);
        expect(proved).toEqual(manifest);
      } catch (error) {
        expect(error).toMatchObject({ name: "ArchiveDamaged" });
      }
    }
    expect(survived).toEqual([]);
  });

  it("one flipped bit ends the job before anything changes, with its reason", async () => {
    const code = await refused("data", async (path) => {
      const bytes = await readFile(path);
      await writeFile(path, flipped(bytes, bytes.length >> 1));
    });
    expect(code).toBe("archive_damaged");
  });

  it.each([
    ["its last byte", -1],
    ["its last chunk's tag", -16],
    ["half of it", -1_000],
    ["all but the head", -1_000_000],
  ])("without %s it is refused", async (_name, cut) => {
    const code = await refused("data", async (path) => {
      const { length } = await readFile(path);
      await truncate(path, Math.max(44, length + cut));
    });
    expect(code).toBe("archive_damaged");
  });

  it("with something behind its end it is refused", async () => {
    const code = await refused("data", async (path) => {
      await writeFile(path, Buffer.concat([await readFile(path), Buffer.alloc(100)]));
    });
    expect(code).toBe("archive_damaged");
  });

  it.each<[string, (chunks: Buffer[]) => Buffer[]]>([
    ["two chunks exchanged", ([first, second, ...rest]) => [second, first, ...rest].map(wholeChunk)],
    ["a chunk repeated", ([first, ...rest]) => [first, first, ...rest].map(wholeChunk)],
    ["its first chunk missing", ([, ...rest]) => rest],
    ["a chunk in the middle missing", ([first, , ...rest]) => [first, ...rest].map(wholeChunk)],
    ["its last chunk missing", (chunks) => chunks.slice(0, -1)],
  ])("with %s it is refused", async (_name, change) => {
    const code = await refused("data", async (path) => {
      const bytes = await readFile(path);
      const chunks: Buffer[] = [];
      for (let at = headBytes; at < bytes.length; at += sealedChunkBytes)
        chunks.push(bytes.subarray(at, at + sealedChunkBytes));
      expect(chunks.length).toBeGreaterThanOrEqual(3);
      await writeFile(path, Buffer.concat([bytes.subarray(0, headBytes), ...change(chunks)]));
    });
    expect(code).toBe("archive_damaged");
  });

  it("gone from the store it is refused", async () => {
    expect(await refused("data", (path) => rm(path))).toBe("archive_missing");
    expect(await refused("manifest", (path) => rm(path))).toBe("archive_missing");
  });
});

describe("an archive in another's place", () => {
  it("an earlier one of the same tenant is refused", async () => {
    const other = await backUp(service, clinic.token);
    for (const part of ["data", "manifest"] as const)
      expect(await refused(part, (path) => cp(pathOf(other.backup_id, part), path))).toBe("archive_damaged");
  });
  it("another tenant's is refused, also with its manifest", async () => {
    const stranger = await openClinic(service, superadmin);
    const other = await backUp(service, stranger.token);
    const code = await refused("data", async (path) => {
      await cp(pathOf(other.backup_id, "data"), path);
      await cp(pathOf(other.backup_id, "manifest"), join(elsewhere, "manifest"));
    });
    expect(code).toBe("archive_damaged");
    expect(await refused("manifest", (path) => cp(join(elsewhere, "manifest"), path))).toBe(
      "archive_damaged",
    );
  });
  it("a manifest that says other things is refused", async () => {
    const code = await refused("manifest", async (path) => {
      const forged = JSON.parse(await readFile(path, "utf8"));
      forged.manifest.contents.tables[0].rows += 1;
      await writeFile(path, JSON.stringify(forged));
    });
    expect(code).toBe("archive_damaged");
    expect(await refused("manifest", (path) => writeFile(path, "{"))).toBe("archive_damaged");
    expect(await refused("manifest", (path) => writeFile(path, Buffer.alloc(2_000_000, 0x20)))).toBe(
      "archive_damaged",
    );
  });
});

/** By whoever has the key: the archive is well sealed, and what is in it is not what it should be. */
async function forge(path: string, tar: Iterable<Buffer>): Promise<void> {
  const { name, data } = await keysOf(made.backup_id);
  const store = new FolderStore(join(elsewhere, "forged"));
  const body = sealing(data, name);
  const put = store.put("forged/data", body, never());
  await Promise.all([pipeline(Readable.from([zstdCompressSync(Buffer.concat([...tar]))]), body), put]);
  await cp(join(elsewhere, "forged", "forged", "data"), path);
}

describe("an archive made by a thief of its key", () => {
  const at = new Date(0);
  const named = (name: string, type = 0x30): Buffer[] => {
    const [head = Buffer.alloc(0), ...rest] = tarFile({ name: "placeholder", bytes: Buffer.alloc(10) }, at);
    const other = Buffer.from(head).fill(0, 0, 100).fill(" ", 148, 156);
    other.write(name, 0, "latin1");
    other[156] = type;
    const sum = other.reduce((total, byte) => total + byte, 0);
    other.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    return [other, ...rest, tarEnd];
  };
  it.each([
    ["a name that climbs", named("../../etc/passwd")],
    ["an absolute name", named("/etc/passwd")],
    ["a link", named("tables/users/00000001.copy", 0x32)],
    ["a folder", named("tables/", 0x35)],
    [
      "another table",
      [...tarFile({ name: "tables/master_keys/00000001.copy", bytes: Buffer.alloc(10) }, at), tarEnd],
    ],
    ["nothing", [tarEnd]],
    [
      "a part too many",
      [...tarFile({ name: "tables/tenants/00000002.copy", bytes: Buffer.alloc(10) }, at), tarEnd],
    ],
    ["noise", [Buffer.alloc(4096, 0x41)]],
  ])("with %s in it is refused", async (_name, tar) => {
    expect(await refused("data", (path) => forge(path, tar))).toBe("archive_damaged");
  });
  it("that unpacks to a thousand times its size is refused on the way", async () => {
    const before = await memoryOf();
    const bomb = [
      ...tarFile({ name: "tables/tenants/00000001.copy", bytes: Buffer.alloc(4 * 1024 * 1024) }, at),
    ];
    const code = await refused("data", (path) =>
      forge(
        path,
        (function* () {
          for (let nth = 0; nth < 64; nth++) yield* bomb;
        })(),
      ),
    );
    expect(code).toBe("archive_damaged");
    expect((await memoryOf()) - before).toBeLessThan(256 * 1024 * 1024);
  });
  it("with a manifest that fits it, of another format, is refused", async () => {
    const { manifest: code } = await keysOf(made.backup_id);
    const manifest = await manifestOf(made.backup_id);
    const other = { ...manifest, contents: { ...manifest.contents, format: 2 } };
    expect(await refused("manifest", (path) => writeFile(path, writeManifest(other, code)))).toBe(
      "archive_damaged",
    );
    const newer = { ...manifest, contents: { ...manifest.contents, schema_version: "9999-newer" } };
    expect(await refused("manifest", (path) => writeFile(path, writeManifest(newer, code)))).toBe(
      "schema_newer",
    );
    const foreign = { ...manifest, contents: { ...manifest.contents, installation: "00" } };
    expect(await refused("manifest", (path) => writeFile(path, writeManifest(foreign, code)))).toBe(
      "foreign_installation",
    );
  });
});

async function memoryOf(): Promise<number> {
  const status = await readFile(`/proc/${service.process.child.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
}

describe("afterwards", () => {
  it("the right archive restores", async () => {
    expect((await restore(service, clinic.token, made.backup_id)).status).toBe("succeeded");
  });
});
