// Taking backups over HTTP: made, listed, followed, downloaded with ordinary tools, deleted.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { withHolder } from "../../support/holder.ts";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { backUp, begin, ended, makePatient, manifestIn, openClinic, unpack } from "./scene.ts";

const run = promisify(execFile);

let service: TestService;
let superadmin: string;
let admin: string;
let nurse: string;
beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
  admin = await service.signIn("admin");
  nurse = await service.signIn("nurse");
});
afterAll(() => service?.stop());

const call: TestService["call"] = (...args) => service.call(...args);

async function download(token: string, id: string, query = ""): Promise<Response> {
  return fetch(`${service.url}/api/admin/backup/download/${id}${query}`, {
    headers: { authorization: `Bearer ${token}` },
  });
}

describe("taking a backup", () => {
  it("answers a job at once, which ends with a backup on the list", async () => {
    const answer = await call("POST", "/api/admin/backup/create", { token: admin, body: {} });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      job_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      backup_id: expect.stringMatching(/^bk_[0-9a-f]{32}$/),
      type: "tenant",
      status: "queued",
    });
    const job = await ended(service, admin, answer.body.job_id);
    expect(Object.keys(job).slice(0, 14)).toEqual(
      "job_id kind type backup_id status step percent rows_done bytes_done error created_at started_at finished_at error_code".split(
        " ",
      ),
    );
    expect(job).toMatchObject({ kind: "backup", status: "succeeded", percent: 100, error: null });
    const list = await call("GET", "/api/admin/backup/list", { token: admin });
    expect(list.status).toBe(200);
    expect(list.body.total).toBe(1);
    const [backup] = list.body.items;
    expect(Object.keys(backup).slice(0, 11)).toEqual(
      "backup_id type tenant_id status size_bytes rows sha256 key_version created_at created_by verified_at".split(
        " ",
      ),
    );
    expect(backup).toMatchObject({
      backup_id: answer.body.backup_id,
      type: "tenant",
      tenant_id: 2,
      status: "succeeded",
      key_version: 1,
    });
  });

  it("a superadmin's is of everything, and of that no administrator sees anything", async () => {
    const made = await backUp(service, superadmin);
    expect(made.type).toBe("full");
    const path = `/api/admin/backup/download/${made.backup_id}`;
    const seen = await call("GET", path, { token: admin });
    const never = await call("GET", `/api/admin/backup/download/bk_${"0".repeat(32)}`, { token: admin });
    expect([seen.status, seen.body]).toEqual([404, never.body]);
    expect((await call("GET", `/api/admin/backup/status/${made.job_id}`, { token: admin })).status).toBe(404);
    expect((await call("DELETE", `/api/admin/backup/${made.backup_id}`, { token: admin })).status).toBe(404);
    const { items } = (await call("GET", "/api/admin/backup/list", { token: admin })).body;
    expect(items.every((each: { tenant_id: number | null }) => each.tenant_id === 2)).toBe(true);
    const all = (await call("GET", "/api/admin/backup/list", { token: superadmin })).body.items;
    expect(all[0].backup_id).toBe(made.backup_id);
  });

  it("a full one is for superadmins alone, and nobody else but administrators takes any", async () => {
    const wanted = { token: admin, body: { type: "full" } };
    expect((await call("POST", "/api/admin/backup/create", wanted)).status).toBe(403);
    expect((await call("POST", "/api/admin/backup/create", { token: nurse, body: {} })).status).toBe(403);
    expect(
      (await call("POST", "/api/admin/backup/create", { token: admin, body: { type: "files" } })).status,
    ).toBe(422);
  });

  it("of two at once for one tenant one is refused", async () => {
    const clinic = await openClinic(service, superadmin);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () =>
        call("POST", "/api/admin/backup/create", { token: clinic.token, body: { type: "tenant" } }),
      ),
    );
    const taken = answers.filter(({ status }) => status === 200);
    expect(taken).toHaveLength(1);
    for (const refused of answers.filter(({ status }) => status !== 200))
      expect([refused.status, refused.body.code]).toEqual([409, "backup_job_running"]);
    await ended(service, clinic.token, taken[0]?.body.job_id);
  });

  it("of a tenant without anything works too", async () => {
    const clinic = await openClinic(service, superadmin);
    const made = await backUp(service, clinic.token);
    const { items } = (await call("GET", "/api/admin/backup/list", { token: clinic.token })).body;
    expect(items[0]).toMatchObject({ backup_id: made.backup_id, tenant_id: clinic.id });
  });

  it("tells its end as an event, and leaves entries of the wish and of the end", async () => {
    const made = await backUp(service, admin);
    const { rows } = await service.database.owner.query(
      "select kind, payload from events where tenant_id = 2 and kind like 'backup.%' order by id desc limit 1",
    );
    expect(rows[0]).toMatchObject({
      kind: "backup.succeeded",
      payload: { backup_id: made.backup_id, type: "tenant" },
    });
    const audit = await call("GET", "/api/admin/audit?action=backup.*", { token: admin });
    const own = audit.body.items.filter((each: { target_id: string }) => each.target_id === made.backup_id);
    expect(own.map((each: { action: string }) => each.action)).toEqual(["backup.finish", "backup.create"]);
  });
});

describe("downloading", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "records-download-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("gives a file that zstd and tar open, of the size and the sum that the list tells", async () => {
    await makePatient(service, admin, "Canary Sealed Name");
    const made = await backUp(service, admin);
    const answer = await download(admin, made.backup_id);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-disposition")).toBe(
      `attachment; filename="${made.backup_id}.tar.zst"`,
    );
    const bytes = Buffer.from(await answer.arrayBuffer());
    const { items } = (await call("GET", "/api/admin/backup/list", { token: admin })).body;
    expect(bytes.length).toBe(items[0].size_bytes);
    expect(answer.headers.get("content-length")).toBe(String(bytes.length));
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(items[0].sha256);
    const file = join(folder, "backup.tar.zst");
    await writeFile(file, bytes);
    await run("tar", ["--use-compress-program=unzstd", "-xf", file, "-C", folder]);
    expect((await readdir(join(folder, "tables"))).sort()).toEqual(
      ["departments", "patient_records", "patients", "preferences", "tenants", "users"].sort(),
    );
    const manifest = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8"));
    expect(manifest).toMatchObject({ format: 1, backup_id: made.backup_id, type: "tenant", tenant_id: 2 });
    for (const table of manifest.tables) {
      const parts = (await readdir(join(folder, "tables", table.name))).sort();
      const whole = Buffer.concat(
        await Promise.all(parts.map((part) => readFile(join(folder, "tables", table.name, part)))),
      );
      expect(createHash("sha256").update(whole).digest("hex")).toBe(table.sha256);
    }
  });

  it("holds what is sealed sealed, no password's hash, and nothing of another tenant", async () => {
    const clinic = await openClinic(service, superadmin);
    await makePatient(service, clinic.token, "Foreign Canary", "FOREIGN-NUMBER-1");
    await makePatient(service, admin, "Another Sealed Canary", "OWN-NUMBER-1");
    const made = await backUp(service, admin);
    const files = unpack(Buffer.from(await (await download(admin, made.backup_id)).arrayBuffer()));
    const all = Buffer.concat([...files.values()]).toString("latin1");
    expect(all).toContain("OWN-NUMBER-1");
    expect(all).not.toContain("FOREIGN-NUMBER-1");
    expect(all).not.toContain("Canary");
    expect(all).not.toContain("argon2id");
    const users = manifestIn(files).tables.find(({ name }) => name === "users");
    expect(users?.columns.map(({ name }) => name)).not.toContain("password_hash");
  });

  it("a type that is not the backup's is a conflict", async () => {
    const made = await backUp(service, admin);
    expect((await download(admin, made.backup_id, "?type=full")).status).toBe(409);
    expect((await download(admin, made.backup_id, "?type=tenant")).status).toBe(200);
    expect((await download(admin, made.backup_id, "?type=files")).status).toBe(422);
  });

  it("a client that goes away half way costs nothing but its own", async () => {
    const made = await backUp(service, admin);
    for (let nth = 0; nth < 20; nth++) {
      const gone = new AbortController();
      const answer = await fetch(`${service.url}/api/admin/backup/download/${made.backup_id}`, {
        headers: { authorization: `Bearer ${admin}` },
        signal: gone.signal,
      });
      gone.abort();
      await expect(answer.arrayBuffer()).rejects.toThrow();
    }
    expect((await download(admin, made.backup_id)).status).toBe(200);
  });

  it("by a link: once, without a token, and not after the session has ended", async () => {
    const made = await backUp(service, admin);
    const path = `/api/admin/backup/download-ticket/${made.backup_id}`;
    const linkOf = async (token: string) => {
      const { status, body } = await call("POST", path, { token });
      expect([status, Object.keys(body)]).toEqual([200, ["url", "expires_at"]]);
      expect(Date.parse(body.expires_at) - Date.now()).toBeLessThanOrEqual(61_000);
      return new URL(body.url).pathname;
    };
    const link = await linkOf(admin);
    const answers = await Promise.all(Array.from({ length: 4 }, () => fetch(`${service.url}${link}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404]);
    const good = answers.find(({ status }) => status === 200);
    expect(Buffer.from((await good?.arrayBuffer()) ?? new ArrayBuffer(0)).length).toBeGreaterThan(0);
    const expired = await linkOf(admin);
    await service.database.owner.query("update backup_tickets set expires_at = now() - interval '1 second'");
    expect((await fetch(`${service.url}${expired}`)).status).toBe(404);
    const other = await service.signIn("admin");
    const late = await linkOf(other);
    await call("POST", "/api/auth/logout", { token: other });
    expect((await fetch(`${service.url}${late}`)).status).toBe(404);
    expect((await call("POST", path, { token: nurse })).status).toBe(403);
  });
});

describe("deleting", () => {
  it("takes it off the list, out of the store, and its key with it", async () => {
    const made = await backUp(service, admin);
    const answer = await call("DELETE", `/api/admin/backup/${made.backup_id}`, { token: admin });
    expect([answer.status, answer.body]).toEqual([200, { deleted: true }]);
    expect((await call("DELETE", `/api/admin/backup/${made.backup_id}`, { token: admin })).status).toBe(404);
    expect((await download(admin, made.backup_id)).status).toBe(404);
    // By a job: soon, not at once.
    await eventually(async () => {
      const text =
        "select from archive_keys where backup_id = $1 union all select from backups where id = $1";
      return (await service.database.owner.query(text, [made.backup_id])).rowCount === 0;
    });
    const store = join(service.database.folder, "data", "backups", "backups");
    expect(await readdir(join(store, made.backup_id))).toEqual([]);
  });

  it("is refused while a job works with the backup", async () => {
    const clinic = await openClinic(service, superadmin);
    const begun = await withHolder(service.database.url, async (holder) => {
      // The job cannot go on past the patients.
      await holder.query("lock table patients in access exclusive mode");
      const started = await begin(service, clinic.token);
      const path = `/api/admin/backup/${started.backup_id}`;
      const answer = await call("DELETE", path, { token: clinic.token });
      expect([answer.status, answer.body.code]).toEqual([409, "backup_in_use"]);
      return started;
    });
    await ended(service, clinic.token, begun.job_id);
  });

  it.each(["..%2f..%2fetc", "%2e%2e", "bk_", "x".repeat(64), "'; drop table backups; --"])(
    "%s names no backup and no job",
    async (id) => {
      for (const [method, path] of [
        ["GET", "download"],
        ["GET", "status"],
        ["DELETE", ""],
      ] as const) {
        const { status } = await call(
          method,
          `/api/admin/backup/${path === "" ? "" : `${path}/`}${encodeURIComponent(id)}`,
          {
            token: superadmin,
          },
        );
        expect(status).toBe(404);
      }
    },
  );
});
