// `npm run restore -- <backup_id>`: restores a full backup into an empty database after a loss. It needs the store, BOOT_SECRET,
// and the owner's login (DATABASE_URL, or the embedded server). `npm run restore -- list` lists the backups. No service may be
// running. A failed run has changed nothing and can be repeated.
import { parseArgs } from "node:util";
import { fail } from "./fail.ts";
import { adoptBackups } from "../services/backups/disaster/adopt-backups.ts";
import { findBackups, type FoundBackup } from "../services/backups/disaster/find-backups.ts";
import { loadFull } from "../services/backups/disaster/load-full.ts";
import { progressOn } from "../operators/show-progress.ts";
import { rowsIn } from "../services/backups/backup-row.ts";
import { ArchiveDamaged } from "../services/shared/archive/sealed-stream.ts";
import { readConfig } from "./settings/config.ts";
import { ensureDatabase, provision, provisionAt } from "./database/provision.ts";
import { openDataDirectory } from "./embedded/data-directory.ts";
import { startEmbeddedPostgres } from "./embedded/postgres.ts";
import { loadOrCreateSecrets, readSecret } from "./embedded/secrets.ts";
import { StartError } from "../services/shared/start-error.ts";
import type { Config } from "./settings/settings.ts";
import { openStore } from "../mixins/store/store-of.ts";
import { StoreError } from "../mixins/store/store.ts";

const embeddedDatabase = "records";
const never = new AbortController().signal;

async function restore(env: NodeJS.ProcessEnv, args: string[]): Promise<void> {
  const { positionals, values } = parseArgs({
    args,
    allowPositionals: true,
    options: { json: { type: "boolean" } },
  });
  const [wanted, ...more] = positionals;
  if (wanted === undefined || more.length > 0)
    throw new StartError(
      "Name one backup: `npm run restore -- <backup_id>`; `npm run restore -- list` says what there is.",
    );
  const config = readConfig(env);
  const bootSecret = config.bootSecret ?? (await readSecret(config.dataDir, "boot"));
  if (bootSecret === undefined)
    throw new StartError(
      "BOOT_SECRET (or BOOT_SECRET_FILE) must be the secret under which the backups were made.",
    );
  const store = openStore(config);
  const found = await findBackups(store, bootSecret, never);
  if (wanted === "list") return list(found.backups, found.closed, values.json === true);
  const backup = found.backups.find(({ manifest }) => manifest.contents.backup_id === wanted);
  if (backup === undefined) throw new StartError(reasonFor(wanted, found.closed));
  if (backup.manifest.contents.type !== "full")
    throw new StartError(
      "This is the backup of one tenant: name a full one, and restore tenants when the service runs.",
    );
  await restoreFull(config, store, bootSecret, backup, found.backups);
}

function reasonFor(wanted: string, closed: readonly string[]): string {
  return closed.includes(wanted)
    ? "The backup cannot be opened: it is damaged, or BOOT_SECRET is not the one under which it was made."
    : "There is no such backup in the store: `npm run restore -- list` says what there is.";
}

function list(backups: readonly FoundBackup[], closed: readonly string[], asJson: boolean): void {
  const rows = backups.map(({ manifest }) => ({
    backup_id: manifest.contents.backup_id,
    type: manifest.contents.type,
    tenant_id: manifest.contents.tenant_id,
    created_at: manifest.contents.taken_at,
    schema_version: manifest.contents.schema_version,
    rows: rowsIn(manifest),
    size_bytes: manifest.file.bytes,
  }));
  if (asJson) process.stdout.write(`${JSON.stringify({ items: rows, closed })}\n`);
  else {
    for (const row of rows)
      process.stdout.write(
        `${row.backup_id}  ${row.created_at}  ${row.type === "full" ? "full" : `tenant ${row.tenant_id}`}  ${row.rows} rows  ${row.size_bytes} bytes\n`,
      );
    if (rows.length === 0) process.stdout.write("There is no backup that BOOT_SECRET opens.\n");
    if (closed.length > 0) process.stdout.write(`${closed.length} more cannot be opened.\n`);
  }
}

async function restoreFull(
  config: Config,
  store: ReturnType<typeof openStore>,
  bootSecret: string,
  backup: FoundBackup,
  all: readonly FoundBackup[],
): Promise<void> {
  const closing: (() => Promise<void>)[] = [];
  const progress = progressOn(process.stderr);
  try {
    const ownerUrl = config.databaseUrl ?? (await embeddedUrl(config.dataDir, closing));
    await provisionAt(ownerUrl, bootSecret, backup.manifest.contents.schema_version);
    await loadFull(ownerUrl, store, backup, (step, percent) => progress.show(step, percent), never);
    await provision({
      ownerUrl,
      bootSecret,
      logins: { kinds: config.databaseLogins, passwords: config.databasePasswords },
    });
    const adopted = await adoptBackups(ownerUrl, all, backup, bootSecret, never);
    progress.show("done", 100);
    progress.end();
    process.stdout.write(
      `${rowsIn(backup.manifest)} rows of ${backup.manifest.contents.taken_at} are back, and ${adopted} backups are listed. Start the service; everybody signs in anew.\n`,
    );
  } finally {
    progress.end();
    for (const close of closing.reverse()) await close();
  }
}

async function embeddedUrl(dataDir: string, closing: (() => Promise<void>)[]): Promise<string> {
  const directory = await openDataDirectory(dataDir);
  closing.push(() => directory.release());
  const { postgres = "" } = await loadOrCreateSecrets(directory.path, ["postgres"]);
  const server = await startEmbeddedPostgres({
    dataDir: directory.path,
    superuser: "postgres",
    password: postgres,
    log: () => {},
  });
  closing.push(() => server.stop());
  await ensureDatabase(server.url("postgres"), embeddedDatabase);
  return server.url(embeddedDatabase);
}

/** Turns errors that an operator can act on into one sentence. */
function asSentence(error: unknown): unknown {
  if (error instanceof ArchiveDamaged)
    return new StartError(`${error.message} Nothing was restored.`, { cause: error });
  if (error instanceof StoreError)
    return new StartError(`The store: ${error.message} Nothing was restored.`, { cause: error });
  return error;
}

await restore(process.env, process.argv.slice(2)).catch((error: unknown) => fail(asSentence(error)));
