// The decision for each table, against the database: a new table, or a new column of one that is restored, needs a word.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { zstdCompressSync } from "node:zlib";
import { migrations } from "../../../migrations/all.ts";
import { firstSchema, schemaSteps } from "../../../services/backups/archive-schema.ts";
import {
  columnsLeftOut,
  decisionsTable,
  tableDecisions,
  tablesOf,
} from "../../../services/backups/table-decisions.ts";
import type { LeasedJob } from "../../../services/backups/leased-job.ts";
import {
  type ArchivedTable,
  archiveKeys,
  archiveNameOf,
  type Contents,
  dataKeyOf,
  type Manifest,
  manifestKeyOf,
  readManifest,
} from "../../../services/backups/archive/manifest.ts";
import { nowhere, readArchive } from "../../../services/backups/archive/read-archive.ts";
import { tarEnd, tarFile } from "../../../services/backups/archive/tar.ts";
import { ArchiveDamaged, opening, sealing } from "../../../services/shared/archive/sealed-stream.ts";
import { unpack } from "../../api/backups/scene.ts";
import type { ArchiveKeyring } from "../../../services/backups/archive-keyring.ts";
import { makeBackup } from "../../../services/backups/make-backup.ts";
import { movingHere } from "../../../services/backups/moving/here.ts";
import { Pace } from "../../../services/backups/moving/pace.ts";
import { FolderStore } from "../../../mixins/store/folder-store.ts";
import type { Store } from "../../../mixins/store/store.ts";
import { openScene, type Scene } from "../tenancy/scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.stop());

async function namesOf(text: string): Promise<string[]> {
  const { rows } = await scene.owner.query<{ name: string }>(text);
  return rows.map(({ name }) => name);
}
const columnsIn = (schema: string) =>
  namesOf(`select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) as name
    from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relnamespace = '${schema}'::regnamespace
    and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by 1`);

describe("the decisions", () => {
  it("are there for every table, and for no other", async () => {
    const tables = await namesOf(
      "select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace",
    );
    expect(Object.keys(tableDecisions).sort()).toEqual(tables.sort());
    await scene.owner.query("create table forgotten (id integer)");
    const more = await namesOf("select relname as name from pg_class where relname = 'forgotten'");
    expect(more.filter((name) => !(name in tableDecisions))).toEqual(["forgotten"]);
    await scene.owner.query("drop table forgotten");
  });
  it("every column of an archive can be laid out, as it is", async () => {
    const places = new Set(await columnsIn("staging"));
    const archived = (await columnsIn("public")).filter((column) =>
      tablesOf("full").some(
        (name) =>
          column.startsWith(`${name}.`) &&
          !columnsLeftOut("full", name).some((each) => column.startsWith(`${name}.${each} `)),
      ),
    );
    expect(archived.filter((column) => !places.has(column))).toEqual([]);
  });
  it("a tenant's archive holds no hash of a password, and no archive a stamp", () => {
    expect(columnsLeftOut("tenant", "users")).toContain("password_hash");
    for (const type of ["full", "tenant"] as const)
      expect(columnsLeftOut(type, "patients")).toContain("stamp");
  });
  it("every migration since the first archives says what it means for them", () => {
    const names = migrations.map(({ name }) => name);
    expect(Object.keys(schemaSteps)).toEqual(names.slice(names.indexOf(firstSchema)));
  });
  it("stand in the documentation as they are", () => {
    const text = readFileSync(join(import.meta.dirname, "../../../services/backups/README.md"), "utf8");
    expect(/<!-- decisions -->\n([\s\S]*?)\n<!-- \/decisions -->/.exec(text)?.[1]?.trim()).toBe(
      decisionsTable(),
    );
  });
});

describe("an archive", () => {
  const signal = AbortSignal.timeout(60_000);
  // Of these two, what making a backup asks.
  const keyring = {
    make: async () => ({
      key: Buffer.alloc(32, 7).toString("base64"),
      master_version: 1,
      wrapped: "",
      installation: "-",
      masters: [],
    }),
    close: async () => {},
  } as unknown as ArchiveKeyring;
  const held = {
    signal,
    job: { type: "full", kind: "backup" },
    renewNow: async () => {},
    setProgress: () => {},
    progressFor: () => () => {},
  } as unknown as LeasedJob;
  const backupId = `bk_${"0".repeat(32)}`;
  const wanted = { backupId, type: "full", tenantId: null, reason: "manual", createdBy: null } as const;
  const folder = () => new FolderStore(join(scene.database.folder, "archives"));
  const make = (store: Store, pace?: Pace) => {
    const moving = movingHere(store, scene.appUrl, pace);
    return makeBackup({ store, keyring, moving }, held, wanted);
  };
  it("is the same with rests after every little piece, while others are served", async () => {
    const rests: number[] = [];
    let nowMs = 0;
    // By this clock each piece is work enough to rest for.
    const pace = new Pace({ now: () => (nowMs += 1), wait: async (ms) => rests.push(ms) });
    pace.giveWay(true);
    const { contents } = await make(folder(), pace);
    const bytes = contents.tables.reduce((sum, table) => sum + table.bytes, 0);
    // Written and read back.
    expect(rests.length).toBeGreaterThanOrEqual((2 * bytes) / pace.pieceBytes);
    expect((await make(folder())).contents.tables).toEqual(contents.tables);
  });

  /** Everything as the folder does it, but for what is read. */
  const giving = (store: Store, alter: (bytes: Buffer) => Buffer) =>
    ({
      put: (...given: Parameters<Store["put"]>) => store.put(...given),
      putOnce: (...given: Parameters<Store["putOnce"]>) => store.putOnce(...given),
      stat: (key: string) => store.stat(key),
      remove: (key: string) => store.remove(key),
      get: async (key: string) => Readable.from([alter(await buffer(await store.get(key, signal)))]),
    }) as unknown as Store;

  it.each([
    [
      "with a byte changed",
      (bytes: Buffer) => bytes.fill((bytes.at(-40) ?? 0) ^ 1, bytes.length - 40, bytes.length - 39),
    ],
    ["cut short", (bytes: Buffer) => bytes.subarray(0, -1)],
    ["empty", () => Buffer.alloc(0)],
  ])("which the store does not give back as it was written (%s) is no backup", async (_how, alter) => {
    await expect(make(giving(folder(), alter))).rejects.toMatchObject({ name: "ArchiveDamaged" });
    expect(await folder().stat(manifestKeyOf(backupId))).toBeUndefined();
  });

  /** Sealed with the right key, with sums and manifest that fit each other. @param alter the files, the manifest's words too */
  async function remade(alter: (files: Map<string, Buffer>, contents: Contents) => void): Promise<Manifest> {
    const store = folder();
    const manifest = await make(store);
    const key = archiveKeys(Buffer.alloc(32, 7)).data;
    const name = archiveNameOf(manifest.contents);
    const sealed = await store.get(dataKeyOf(backupId), signal);
    const files = unpack(await buffer(sealed.pipe(opening(key, name))));
    const contents = structuredClone(manifest.contents);
    files.delete("manifest.json");
    alter(files, contents);
    files.set("manifest.json", Buffer.from(`${JSON.stringify(contents, null, 1)}\n`));
    const at = new Date(0);
    const tar = [...files].flatMap(([path, bytes]) => [...tarFile({ name: path, bytes }, at)]);
    const zstd = zstdCompressSync(Buffer.concat([...tar, tarEnd]));
    await store.put(dataKeyOf(backupId), Readable.from([zstd]).pipe(sealing(key, name)), signal);
    const sha256 = createHash("sha256").update(zstd).digest("hex");
    return { ...manifest, contents, file: { bytes: zstd.length, sha256 } };
  }
  const read = (manifest: Manifest) =>
    readArchive(folder(), manifest, archiveKeys(Buffer.alloc(32, 7)).data, nowhere, () => {}, signal);
  const tenantsIn = ({ tables }: Contents): ArchivedTable => {
    const table = tables.find(({ name }) => name === "tenants");
    if (table === undefined) throw new Error("tenants are in every archive");
    return table;
  };

  it.each<[string, (files: Map<string, Buffer>, contents: Contents) => void]>([
    ["a sum that is not the table's", (_, contents) => (tenantsIn(contents).sha256 = "0".repeat(64))],
    ["a length that is not the table's", (_, contents) => tenantsIn(contents).bytes++],
    [
      "a table that is not there",
      (_, contents) => contents.tables.push({ ...tenantsIn(contents), name: "zones" }),
    ],
    ["a part that is not there", (files) => files.delete("tables/users/00000001.copy")],
    ["another byte in a part", (files) => files.get("tables/tenants/00000001.copy")?.fill(1, 0, 1)],
  ])("whose writer was wrong about itself (%s) is refused", async (_what, alter) => {
    await expect(read(await remade(alter))).rejects.toThrow("The archive is not the one of its manifest.");
  });

  it("of another file's sum is refused", async () => {
    const manifest = await remade(() => {});
    const other = { ...manifest, file: { ...manifest.file, sha256: "0".repeat(64) } };
    await expect(read(other)).rejects.toThrow("The archive is not the one of its manifest.");
  });

  it("whose manifest was changed in anything at all is not believed", async () => {
    const store = folder();
    await make(store);
    const text = String(await buffer(await store.get(manifestKeyOf(backupId), signal)));
    const { manifest: key } = archiveKeys(Buffer.alloc(32, 7));
    const changed = text.replace('"reason": "manual"', '"reason": "safety"');
    expect(changed).not.toBe(text);
    expect(readManifest(Buffer.from(text)).prove(key).made.reason).toBe("manual");
    expect(() => readManifest(Buffer.from(changed)).prove(key)).toThrow(ArchiveDamaged);
  });

  it("that was taken apart and put together as it was is the same", async () => {
    await read(await remade(() => {}));
  });

  it("which it does is one", async () => {
    const manifest = await make(giving(folder(), (bytes) => bytes));
    expect(manifest.contents.tables.map(({ name }) => name)).toEqual(tablesOf("full"));
    expect(await folder().stat(manifestKeyOf(backupId))).toBeDefined();
  });
});
