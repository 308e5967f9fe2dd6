// The places outside the database that take checkpoints: each document once and in order. A further one (the backups' store, for
// example) is one more CheckpointSink.
import type { ServiceBroker } from "moleculer";
import { callAs } from "../../shared/bus.ts";
import { Caller } from "../../shared/caller.ts";
import type { Database } from "../../shared/database/database.ts";
import { platform } from "../../shared/database/scope.ts";
import type { Checkpoint, Signed } from "./checkpoint.rules.ts";
import type { CheckpointFolder } from "./checkpoint-folder.ts";
import type { CheckpointRows } from "./checkpoint-rows.ts";
import type { KeptCheckpoints } from "./kept-checkpoints.ts";
import type { SigningKey } from "./signing-key.ts";

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
export function addressSink(db: Database, broker: ServiceBroker, key: SigningKey): CheckpointSink {
  const name = "address";
  return {
    name,
    async last() {
      const row = await db.readOne<{ last: string }>(platform, {
        name: "audit.sink",
        text: "select last_number as last from audit_sinks where name = $1",
        values: [name],
      });
      return Number(row?.last ?? 0);
    },
    async take({ number }, document) {
      const id = `checkpoint_${key.id.slice(0, 8)}_${number}`;
      const timestamp = Math.floor(Date.now() / 1000);
      const signature = `v1a,${key.sign(`${id}.${timestamp}.${document}`)}`;
      const answer = await callAs(broker, "audit", "webhooks.post_checkpoint", {
        id,
        timestamp,
        signature,
        document,
      });
      if (answer.state === "off") return false;
      if (answer.state === "failed") throw new Error(`the checkpoints' address answered ${answer.reason}`);
      await db.write(platform, Caller.system("audit"), {
        name: "audit.sink_took",
        text: `insert into audit_sinks (name, last_number) values ($1, $2)
          on conflict (name) do update set last_number = excluded.last_number, taken_at = now()`,
        values: [name, number],
      });
      return true;
    },
  };
}
