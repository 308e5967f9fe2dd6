// The places outside the database that take checkpoints, each document in order: a folder, an address of the operator's, and
// the bucket of the backups. A further one is one more CheckpointSink.
import type { ServiceBroker } from "moleculer";
import type { Logger } from "pino";
import { callAs } from "../../shared/bus/bus.ts";
import { Caller } from "../../shared/caller.ts";
import type { Database } from "../../shared/database/database.ts";
import { platform } from "../../shared/database/scope.ts";
import type { Checkpoint, Signed } from "./checkpoint.rules.ts";
import type { CheckpointFolder } from "./checkpoint-folder.ts";
import type { CheckpointRows } from "./checkpoint-rows.ts";
import type { KeptCheckpoints } from "./kept-checkpoints.ts";
import type { SigningKey } from "./signing-key.ts";
import type { Column } from "../../shared/database/row.ts";

export interface CheckpointSink {
  readonly name: string;
  /** Number of the last document that it has; 0: none. */
  last(): Promise<number>;
  /**
   * Resolves when the document is there for good.
   * @returns false when nobody has set the place up
   * @throws when it could not be taken; it will be offered again
   */
  take(document: Signed<Checkpoint>, line: string): Promise<boolean>;
}

/** What is offered in one go; the rest follows the next time. */
const documentsMax = 100;

export type Published = "done" | "more" | "off";

/** Offers a place what it has not got yet. */
export async function publish(rows: CheckpointRows, sink: CheckpointSink): Promise<Published> {
  const next = await rows.after(await sink.last(), documentsMax);
  for (const { document, line } of next) {
    if (!(await sink.take(document, line))) return "off";
  }
  return next.length < documentsMax ? "done" : "more";
}

/** Whose progress is the folder itself. */
export function folderSink(folder: CheckpointFolder, kept: KeptCheckpoints, key: SigningKey): CheckpointSink {
  return {
    name: "folder",
    async last() {
      await kept.refresh();
      return kept.last?.number ?? 0;
    },
    async take({ at }, line) {
      await folder.keepKey(key);
      await folder.append(line, at);
      return true;
    },
  };
}

/** An address of the operator's; webhooks' service speaks to it, as it alone may leave the cluster. */
export function addressSink(remote: Remote, broker: ServiceBroker, key: SigningKey): CheckpointSink {
  return remoteSink("address", remote, ({ number }, document) => {
    const id = `checkpoint_${key.id.slice(0, 8)}_${number}`;
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = `v1a,${key.sign(`${id}.${timestamp}.${document}`)}`;
    return callAs(broker, "audit", "webhooks.post_checkpoint", { id, timestamp, signature, document });
  });
}

/** The bucket of the backups; their service speaks to it, as it alone has a login there. */
export function storeSink(remote: Remote, broker: ServiceBroker): CheckpointSink {
  return remoteSink("store", remote, async ({ number }, document) => {
    try {
      return await callAs(broker, "audit", "backups.keep_checkpoint", { number, document });
    } catch (error) {
      // No process keeps backups here, or the one that does is not up yet: the next run asks again.
      if (error instanceof Error && error.name === "ServiceNotFoundError")
        return { state: "off", reason: error.name };
      throw error;
    }
  });
}

export interface Remote {
  db: Database;
  log: Logger;
  /**
   * By place: the first document of those that this process has made that the place has not taken yet. They are offered
   * whatever the database says: whoever owns it could say that they were taken.
   */
  made: Map<string, number>;
}

interface Delivery {
  state: "taken" | "off" | "failed";
  reason: string;
}

/** A place whose progress is a row: two processes offer it the same documents, and one that starts goes on. */
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
      const said = row === undefined || row.beyond ? 0 : Number(row.last);
      return Math.min(said, (made.get(name) ?? Number.POSITIVE_INFINITY) - 1);
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
