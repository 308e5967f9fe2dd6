// The bytes of archives, moved by whoever calls: in the thread that is there for it, and in tests.
import type { Contents } from "../archive/manifest.ts";
import { formatVersion } from "../archive/manifest.ts";
import type { OpenArchive } from "../archive/open-manifest.ts";
import { nowhere, readArchive, type TakenBytes } from "../archive/read-archive.ts";
import { type Meter, writeArchive } from "../archive/write-archive.ts";
import { assertKeys } from "../assert-keys.ts";
import { clearStaged } from "../clear-staged.ts";
import { compareStaged } from "../compare-staged.ts";
import { JobFailed } from "../job-failed.ts";
import { readPlan } from "../read-plan.ts";
import { restoredTables } from "../restore-conditions.ts";
import { stage } from "../stage.ts";
import { Bulk } from "../../shared/database/bulk.ts";
import type { Store } from "../../../mixins/store/store.ts";
import type { LaidOut, Moving, Place, Taken, Tell } from "./moving.ts";
import { Pace } from "./pace.ts";
import type { Column } from "../../shared/database/row.ts";

/** Of a proof, laying out is more work than reading out again. */
const stagingShare = 0.6;

/** @param pace told how hard to work */
export function movingHere(store: Store, databaseUrl: string, pace = new Pace()): Moving {
  const within = async <T>(signal: AbortSignal, work: (bulk: Bulk) => Promise<T>): Promise<T> => {
    const bulk = await Bulk.open(databaseUrl, signal);
    try {
      return await work(bulk);
    } finally {
      // Ends the transaction too: what was not committed does not stay.
      await bulk.close();
    }
  };
  const lay = async (
    bulk: Bulk,
    archive: OpenArchive,
    { job, tenantId }: Place,
    tell: Tell,
    signal: AbortSignal,
  ) => {
    await bulk.beginChange({ as: "restore", ...(tenantId === null ? {} : { tenantId }), job });
    // A try before this one may have left some.
    await clearStaged(bulk, job);
    await stage(bulk, store, archive, counting(archive, tell, pace), signal);
  };
  const layForTenant = async (...given: Parameters<typeof lay>) => {
    const [bulk, , { job, tenantId, steps = [] }] = given;
    if (tenantId === null) throw new JobFailed("tenant_gone");
    await lay(...given);
    for (const step of steps) await bulk.query(step, [job]);
    await assertKeys(bulk, job, tenantId);
    return tenantId;
  };
  return {
    write: (taken, tell, signal) =>
      within(signal, (bulk) => write(bulk, store, taken, metered(tell, pace), signal)),
    check: ({ manifest, data }, tell, signal) =>
      readArchive(store, manifest, data, nowhere, counting({ manifest }, tell, pace), signal),
    layOut: (archive, place, tell, signal) =>
      within(signal, async (bulk) => {
        await layForTenant(bulk, archive, place, tell, signal);
        await bulk.commit();
        return rowsOf(archive.manifest.contents);
      }),
    plan: (archive, place, tell, signal) =>
      within(signal, async (bulk) =>
        readPlan(bulk, place.job, await layForTenant(bulk, archive, place, tell, signal)),
      ),
    prove: (archive, place, tell, signal) =>
      within(signal, async (bulk) => {
        await lay(
          bulk,
          archive,
          place,
          (moved) => tell({ ...moved, share: stagingShare * moved.share }),
          signal,
        );
        return compareStaged(bulk, archive.manifest.contents, place.job, (moved) =>
          tell({ ...moved, share: stagingShare + (1 - stagingShare) * moved.share }),
        );
      }),
    close: async () => {},
  };
}

/** By the manifest: what was laid out has been compared with it, and what brings rows up to date leaves as many. */
const rowsOf = ({ tables }: Contents): LaidOut =>
  Object.fromEntries(
    restoredTables.map((name) => [name, tables.find((table) => table.name === name)?.rows ?? 0]),
  );

/** Bytes of tables as they come, as what is told; whoever brings them rests before the next. */
function counting({ manifest }: Pick<OpenArchive, "manifest">, tell: Tell, pace: Pace): TakenBytes {
  const whole = manifest.contents.tables.reduce((sum, { bytes }) => sum + bytes, 1);
  let read = 0;
  return (bytes) => {
    read += bytes;
    tell({ share: read / whole, bytes: read });
    return pace.rest();
  };
}

const metered = (tell: Tell, pace: Pace): Meter => ({
  tell: ({ step, rows, bytes, table, tables }) => tell({ share: table / tables, step, rows, bytes }),
  get pieceBytes() {
    return pace.pieceBytes;
  },
  rest: (reading) => pace.rest(reading),
});

async function write(bulk: Bulk, store: Store, taken: Taken, meter: Meter, signal: AbortSignal) {
  const { tenantId, key } = taken;
  await bulk.beginSnapshot(tenantId === null ? { as: "platform" } : { as: "tenant", tenantId });
  const facts = await factsOf(bulk, taken);
  return writeArchive(bulk, store, facts, key, meter, signal);
}

async function factsOf(
  bulk: Bulk,
  { backupId, type, tenantId, installation }: Taken,
): Promise<Omit<Contents, "tables">> {
  // A tenant's own statement may not read which migrations ran in another's way; the newest name is everybody's.
  const [state] = await bulk.query<{
    schema: string;
    taken_at: Date;
    tenant: boolean;
    seq: Column<"audit_heads", "seq"> | null;
    hash: string | null;
  }>(
    `select (select max(name) from mikro_orm_migrations) as schema, now() as taken_at,
       exists (select from tenants where id = $1) as tenant, h.seq, encode(h.hash, 'hex') as hash
     from (select) one left join audit_heads h on h.tenant_id = coalesce($1::integer,
       (select id from tenants where subdomain = 'platform' and deleted_at is null))`,
    [tenantId],
  );
  if (state === undefined || (type === "tenant" && !state.tenant)) throw new JobFailed("tenant_gone");
  return {
    format: formatVersion,
    backup_id: backupId,
    type,
    tenant_id: tenantId,
    installation,
    schema_version: state.schema,
    taken_at: state.taken_at.toISOString(),
    audit_head: state.hash === null ? null : { seq: Number(state.seq), hash: state.hash },
  };
}
