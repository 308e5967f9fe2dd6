// Reads due deliveries and writes their results, each for many targets in one statement. Both use a partial index of pending
// deliveries, so the cost does not depend on the length of the log.
import { Caller } from "../../services/shared/caller.ts";
import type { Database } from "../../services/shared/database/database.ts";
import { platform } from "../../services/shared/database/scope.ts";
import { toIso } from "../../services/shared/wire.ts";
import type { Attempt, Delivery, TargetRef } from "./channel.ts";
import type { NextState } from "./retry.rules.ts";
import type { RowOf } from "../../services/shared/database/row.ts";

const caller = Caller.system("deliveries");

type Row = RowOf<
  "deliveries",
  "id" | "tenant_id" | "target_id" | "seq" | "kind" | "occurred_at" | "attempts" | "tries" | "trace",
  { payload: string }
>;

/**
 * `not in (select …)` and not `<> all`: the subselect is hashed, while `<> all` compares each row with each id. Exported for a
 * test of its plan.
 */
export const dueText = `select d.* from unnest($1::integer[], $2::integer[]) as t (tenant_id, target_id)
  cross join lateral (
    select d.id, d.tenant_id, d.target_id, d.seq, d.kind, d.payload::text as payload, d.occurred_at, d.attempts, d.tries,
      d.trace
    from deliveries d where d.tenant_id = t.tenant_id and d.target_id = t.target_id and d.state = 'pending'
      and d.due_at <= now() and d.id not in (select unnest($3::uuid[]))
    order by d.due_at, d.seq limit $4
  ) d`;

/**
 * @returns due deliveries, in the order in which they are to be sent.
 * @param busy ids to leave out: this worker has them already
 */
export async function readDue(
  database: Database,
  targets: readonly TargetRef[],
  busy: readonly string[],
  eachMax: number,
): Promise<Delivery[]> {
  const rows = await database.read<Row>(platform, {
    name: "deliveries.due",
    byIndex: true,
    text: dueText,
    values: [targets.map(({ tenantId }) => tenantId), targets.map(({ targetId }) => targetId), busy, eachMax],
  });
  return rows.map((row) => ({
    id: row.id,
    tenantId: row.tenant_id,
    targetId: row.target_id,
    seq: Number(row.seq),
    kind: row.kind,
    payload: row.payload,
    occurredAt: toIso(row.occurred_at),
    attempts: row.attempts,
    tries: row.tries,
    trace: row.trace,
  }));
}

export interface DeliveryResult {
  delivery: Delivery;
  attempt: Attempt;
  next: NextState;
}

/**
 * Writes the attempts into the log in any case. The state of a delivery changes only if it has not changed meanwhile (it was
 * canceled, or another worker has taken over).
 */
export async function writeResults(database: Database, results: readonly DeliveryResult[]): Promise<void> {
  const column = <T>(of: (result: DeliveryResult) => T): T[] => results.map(of);
  await database.write(platform, caller, {
    name: "deliveries.record",
    byIndex: true,
    text: `with given as (select * from unnest($1::uuid[], $2::integer[], $3::text[], $4::float8[], $5::integer[],
        $6::integer[], $7::text[], $8::text[])
        as g (id, attempts, state, delay, status_code, duration_ms, error, response)),
      done as (update deliveries d set state = g.state, attempts = d.attempts + 1, tries = d.tries + 1,
          due_at = case g.state when 'pending' then clock_timestamp() + make_interval(secs => g.delay) else d.due_at end,
          finished_at = case g.state when 'pending' then null else clock_timestamp() end
        from given g where d.id = g.id and d.state = 'pending' and d.attempts = g.attempts)
      insert into delivery_attempts (tenant_id, delivery_id, cause, status_code, duration_ms, error, response)
      select d.tenant_id, d.id, d.cause, g.status_code, g.duration_ms, g.error, g.response
      from given g join deliveries d on d.id = g.id`,
    values: [
      column(({ delivery }) => delivery.id),
      column(({ delivery }) => delivery.attempts),
      column(({ next }) => next.state),
      column(({ next }) => (next.state === "pending" ? next.delaySeconds : null)),
      column(({ attempt }) => attempt.statusCode),
      column(({ attempt }) => attempt.durationMs),
      column(({ attempt }) => attempt.error),
      column(({ attempt }) => attempt.response),
    ],
  });
}

/** Cancels at most `max` due deliveries of targets that get nothing more. @returns how many */
export async function cancelDue(
  database: Database,
  targets: readonly TargetRef[],
  max: number,
): Promise<number> {
  const canceled = await database.write(platform, caller, {
    name: "deliveries.cancel_due",
    byIndex: true,
    text: `update deliveries set state = 'canceled', finished_at = clock_timestamp()
      where id in (select d.id from deliveries d join unnest($1::integer[], $2::integer[]) as t (tenant_id, target_id)
        on d.tenant_id = t.tenant_id and d.target_id = t.target_id
        where d.state = 'pending' and d.due_at <= now() limit $3 for update of d skip locked) returning id`,
    values: [targets.map(({ tenantId }) => tenantId), targets.map(({ targetId }) => targetId), max],
  });
  return canceled.length;
}
