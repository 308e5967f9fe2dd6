// A fix as stored, and on the wire; and the hash by which an edited one is known.
import { createHash } from "node:crypto";
import type { PlainChange } from "../shared/database/change.ts";
import { Caller } from "../shared/caller.ts";
import type { KnownFault } from "../../mixins/healing/known-fault.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { toIso } from "../shared/wire.ts";
import type { fixShape } from "./self-healing.contract.ts";
import type { RowOf } from "../shared/database/row.ts";

export type Fix = ValueOf<typeof fixShape>;

/** Timestamps as PostgreSQL writes them. */
export type FixRow = Fix;

export const system = Caller.system("self-healing");

/** For `fixes f`. */
export const fixColumns = `f.id, f.code, f.title, f.problem, f.remedy, f.risk, f.status, f.occurrences, f.healed, f.failed,
  (select count(*)::integer from incidents i where i.fix_id = f.id and i.ended_at is null) as open_incidents,
  f.last_detected_at, f.last_healed_at, f.confirmed_by, f.confirmed_at, f.created_at, f.suspended_reason`;

const moment = (text: string | null) => (text === null ? null : toIso(text));

export function toFix(row: FixRow): Fix {
  return {
    ...row,
    last_detected_at: moment(row.last_detected_at),
    last_healed_at: moment(row.last_healed_at),
    confirmed_at: moment(row.confirmed_at),
    created_at: toIso(row.created_at),
  };
}

export type Texts = Pick<KnownFault, "title" | "problem" | "remedy" | "risk">;

export function hashOf({ title, problem, remedy, risk }: Texts): Buffer {
  return createHash("sha256")
    .update(JSON.stringify([title, problem, remedy, risk]))
    .digest();
}

/** Where fixes are recorded and told of: they are the platform's. */
export async function platformTenant(change: PlainChange): Promise<number> {
  const [row] = await change.execute<RowOf<"tenants", "id">>(
    "select id from tenants where subdomain = 'platform' and deleted_at is null",
  );
  if (row === undefined) throw new Error("there is no platform tenant");
  return row.id;
}
