// The sinks outside the database that receive all checkpoints in order: a folder, an address of the operator,
// and the bucket of the backups. To add one, implement CheckpointSink.
import type { ServiceBroker } from "moleculer";
import type { Logger } from "pino";
import { callAs } from "../../shared/bus/bus.ts";
import { Caller } from "../../shared/caller.ts";
import type { Database } from "../../shared/database/database.ts";
import { platform } from "../../shared/database/scope.ts";
import type { Checkpoint, Signed } from "./checkpoint.rules.ts";
import type { CheckpointFolder } from "./checkpoint-folder.ts";
import type { CheckpointRows } from "./checkpoint-rows.ts";
import type { FolderState } from "./folder-state.ts";
import type { SigningKey } from "./signing-key.ts";
import type { Column } from "../../shared/database/row.ts";

/** A destination for checkpoints. */
export interface CheckpointSink {
  readonly name: string;
  /** Number of the last document that it has received; 0 when none. */
  last(): Promise<number>;
  /**
   * Resolves when the document is stored durably.
   * @returns false when the sink is not configured
   * @throws when it could not be stored; it will be offered again
   */
  take(document: Signed<Checkpoint>, line: string): Promise<boolean>;
}

/** Documents per run; the next run continues. */
const documentsMax = 100;

/** "off": the sink is not configured. */
export type Published = "done" | "more" | "off";

/** Sends the sink the documents that it has not received. */
export async function publish(rows: CheckpointRows, sink: CheckpointSink): Promise<Published> {
  const next = await rows.after(await sink.last(), documentsMax);
  for (const { document, line } of next) {
    if (!(await sink.take(document, line))) return "off";
  }
  return next.length < documentsMax ? "done" : "more";
}

/** The folder as sink. Its progress is the content of the folder. */
export function folderSink(
  folder: CheckpointFolder,
  folderState: FolderState,
  key: SigningKey,
): CheckpointSink {
  return {
    name: "folder",
    async last() {
      await folderState.refresh();
      return folderState.last?.number ?? 0;
    },
    async take({ at }, line) {
      await folder.keepKey(key);
      await folder.append(line, at);
      return true;
    },
  };
}

/**
 * An address of the operator. The webhooks service sends the requests, because only that service may connect
 * outside the cluster.
 */
export function addressSink(remote: Remote, broker: ServiceBroker, key: SigningKey): CheckpointSink {
  return remoteSink("address", remote, ({ number }, document) => {
    const id = `checkpoint_${key.id.slice(0, 8)}_${number}`;
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = `v1a,${key.sign(`${id}.${timestamp}.${document}`)}`;
    return callAs(broker, "audit", "webhooks.post_checkpoint", { id, timestamp, signature, document });
  });
}

/**
 * The bucket of the backups. The backups service stores the documents, because only that service has
 * credentials for it.
 */
export function storeSink(remote: Remote, broker: ServiceBroker): CheckpointSink {
  return remoteSink("store", remote, async ({ number }, document) => {
    try {
      return await callAs(broker, "audit", "backups.keep_checkpoint", { number, document });
    } catch (error) {
      // No backups service is running, or it has not started yet: the next run tries again.
      if (error instanceof Error && error.name === "ServiceNotFoundError")
        return { state: "off", reason: error.name };
      throw error;
    }
  });
}

/** What the remote sinks share. */
export interface Remote {
  db: Database;
  log: Logger;
  /**
   * By sink: the first document created by this process that the sink has not received. These documents are
   * sent regardless of the progress stored in the database, which the owner of the database could falsify.
   */
  made: Map<string, number>;
}

interface Delivery {
  state: "taken" | "off" | "failed";
  reason: string;
}

/**
 * A sink whose progress is stored in a row, so a restarted process continues. Two processes may send the same
 * document twice.
 */
function remoteSink(
  name: string,
  { db, log, made }: Remote,
  deliver: (document: Signed<Checkpoint>, line: string) => Promise<Delivery>,
): CheckpointSink {
  return {
    name,
    async last() {
      const row = await db.readOne<{ last: Column<"audit_sinks", "last_number">; beyond: boolean }>(
        platform,
        {
          name: "audit.sink",
          text: `select last_number as last, last_number > coalesce((select max(number) from audit_checkpoints), 0) as beyond
          from audit_sinks where name = $1`,
          values: [name],
        },
      );
      if (row?.beyond === true)
        log.error({ sink: name, last: row.last }, "a place cannot have checkpoints that were never made");
      const stored = row === undefined || row.beyond ? 0 : Number(row.last);
      return Math.min(stored, (made.get(name) ?? Number.POSITIVE_INFINITY) - 1);
    },
    async take(document, line) {
      const { state, reason } = await deliver(document, line);
      if (state === "off") return false;
      if (state === "failed") throw new Error(`the place for checkpoints (${name}) answered ${reason}`);
      if (made.has(name)) made.set(name, document.number + 1);
      await db.write(platform, Caller.system("audit"), {
        name: "audit.sink_took",
        text: `insert into audit_sinks (name, last_number) values ($1, $2)
          on conflict (name) do update set last_number = excluded.last_number, taken_at = now()`,
        values: [name, document.number],
      });
      return true;
    },
  };
}
