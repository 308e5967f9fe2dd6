// Archives of earlier versions, kept as test data: each comes back in this one, and one of today's form is among them.
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type pg from "pg";
import {
  archiveKeys,
  archiveNameOf,
  formatVersion,
  type Manifest,
  readManifest,
  writeManifest,
} from "../../../services/backups/archive/manifest.ts";
import {
  type BackupType,
  columnsLeftOut,
  type TableName,
  tablesOf,
} from "../../../services/backups/table-decisions.ts";
import { provision } from "../../../host/database/provision.ts";
import { unwrapArchiveKey, unwrapMasterKey } from "../../../services/shared/sealing/wrapping.ts";
import {
  addressOf,
  callApi,
  demoPassword,
  runProcess,
  startDatabase,
  type TestDatabase,
  testSettings,
} from "../../support/service.ts";
import { keptArchives, type KeptArchive } from "./archives/kept.ts";
import { restore } from "./scene.ts";

const toldHow = "run `node test/api/backups/archives/make.ts` and commit the folder that it makes";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.stop());

/** In a database of its own, which then has this version's schema. */
async function broughtBack(kept: KeptArchive): Promise<Record<string, string>> {
  const name = `kept_${kept.schema.replaceAll("-", "_")}`;
  await database.owner.query(`create database ${name}`);
  const dataDir = join(database.folder, name);
  await cp(kept.folder, dataDir, { recursive: true });
  const settings = {
    ...testSettings(database),
    DATABASE_URL: database.postgres.url(name),
    DATA_DIR: dataDir,
    BOOT_SECRET: kept.bootSecret,
    DEMO_MODE: "false",
  };
  const running = runProcess(settings, "host/restore.ts", [kept.full]);
  expect([await running.exited, running.output()]).toEqual([0, expect.stringContaining("are back")]);
  return settings;
}

describe("an archive of an earlier version", () => {
  it.each(keptArchives.map((kept) => [kept.schema, kept] as const))(
    "%s: the full one comes back in an empty database, and the tenant's within it",
    async (_schema, kept) => {
      const running = runProcess(await broughtBack(kept));
      try {
        const url = await addressOf(running);
        const call = (method: string, path: string, options?: object) => callApi(url, method, path, options);
        const body = { email: kept.email, password: demoPassword, subdomain: kept.subdomain };
        const token = (await call("POST", "/api/auth/login", { body })).body.access_token;
        const isThere = async () => {
          const patient = await call("GET", `/api/patients/${kept.patient_id}`, { token });
          const records = await call("GET", `/api/patients/${kept.patient_id}/records`, { token });
          return [patient.status, patient.body.full_name, records.body.items?.[0]?.body];
        };
        expect(await isThere()).toEqual([200, kept.full_name, kept.record]);
        expect((await call("GET", "/api/preferences", { token })).body.theme).toBe("dark");
        expect((await call("GET", "/api/admin/audit/verify", { token })).body).toMatchObject({ ok: true });
        await call("DELETE", `/api/patients/${kept.patient_id}`, { token });
        await call("PUT", "/api/preferences", { token, body: { theme: "light" } });
        expect((await isThere())[0]).toBe(404);
        expect(await restore({ call }, token, kept.tenant)).toMatchObject({ status: "succeeded" });
        expect(await isThere()).toEqual([200, kept.full_name, kept.record]);
        expect((await call("GET", "/api/preferences", { token })).body.theme).toBe("dark");
      } finally {
        await running.stop();
      }
    },
  );

  it("of a later version is refused in one sentence, with nothing changed", async () => {
    const [kept] = keptArchives;
    if (kept === undefined) throw new Error(toldHow);
    const dataDir = join(database.folder, "later");
    await cp(kept.folder, dataDir, { recursive: true });
    const path = join(dataDir, "backups/backups", kept.full, "manifest");
    await writeFile(path, ofLaterVersion(await readFile(path), kept.bootSecret));
    await database.owner.query("create database later");
    const url = database.postgres.url("later");
    const settings = { DATABASE_URL: url, DATA_DIR: dataDir, BOOT_SECRET: kept.bootSecret };
    const running = runProcess(settings, "host/restore.ts", [kept.full]);
    expect([await running.exited, running.output()]).toEqual([
      1,
      expect.stringContaining("The backup is of a version that this one does not know (9999-later)"),
    ]);
    expect(running.output().trim().split("\n")).toHaveLength(1);
  });

  it("is kept of today's format and tables", async () => {
    const newest = keptArchives.at(-1);
    if (newest === undefined) throw new Error(toldHow);
    await provision({ ownerUrl: database.url, bootSecret: newest.bootSecret });
    for (const type of ["full", "tenant"] as const) {
      const { contents }: Manifest = JSON.parse(
        await readFile(join(newest.folder, "backups/backups", newest[type], "manifest"), "utf8"),
      ).manifest;
      const held = contents.tables.map(({ name, columns }) => [
        name,
        columns.map((each) => `${each.name} ${each.type}`),
      ]);
      const now = [];
      for (const name of tablesOf(type)) now.push([name, await columnsOf(database.owner, name, type)]);
      if (contents.format !== formatVersion || JSON.stringify(held) !== JSON.stringify(now))
        // The difference says what changed, the sentence what to do.
        expect({ todo: toldHow, format: contents.format, held }).toEqual({
          todo: "",
          format: formatVersion,
          held: now,
        });
    }
  });
});

/** As whoever has the secret can. */
function ofLaterVersion(bytes: Buffer, bootSecret: string): Buffer {
  const { manifest } = readManifest(bytes);
  const { keys, contents } = manifest;
  const master = keys.masters.find(({ version }) => version === keys.master_version);
  const key = unwrapArchiveKey(
    unwrapMasterKey(bootSecret, keys.master_version, Buffer.from(master?.wrapped ?? "", "base64")),
    archiveNameOf(contents),
    Buffer.from(keys.wrapped, "base64"),
  );
  const later = { ...manifest, contents: { ...contents, schema_version: "9999-later" } };
  return writeManifest(later, archiveKeys(key).manifest);
}

/** As `archive/write-archive.ts` finds them. */
async function columnsOf(owner: pg.Client, table: TableName, type: BackupType): Promise<string[]> {
  const { rows } = await owner.query<{ column: string }>(
    `select attname || ' ' || format_type(atttypid, atttypmod) as column from pg_attribute
     where attrelid = to_regclass('public.' || $1) and attnum > 0 and not attisdropped and attgenerated = ''
       and attname <> all($2::text[]) order by attnum`,
    [table, columnsLeftOut(type, table)],
  );
  return rows.map((row) => row.column);
}
