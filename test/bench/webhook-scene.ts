// The scene of the webhooks' bench: tenants with an endpoint each, put in by the owner, and events as a change leaves them.
import type pg from "pg";
import { TestKeyring } from "../support/keyring.ts";
import { createTenants } from "./fill.ts";

export interface Endpoint {
  tenantId: number;
  id: number;
}

/** One webhook for all events each, in a tenant of its own. */
export async function addEndpoints(
  owner: pg.Client,
  bootSecret: string,
  names: readonly string[],
  urlOf: (index: number) => string,
): Promise<Endpoint[]> {
  const keyring = new TestKeyring(owner, bootSecret);
  const tenants = await createTenants(owner, names);
  const endpoints: Endpoint[] = [];
  for (const [index, { id: tenantId }] of tenants.entries()) {
    const keys = await keyring.of(tenantId);
    const { rows } = await owner.query<{ id: number }>(
      "insert into delivery_targets (tenant_id, channel, events) values ($1, 'webhook', '{*}') returning id",
      [tenantId],
    );
    const id = rows[0]?.id ?? 0;
    await owner.query("insert into webhooks (tenant_id, id, url, secret) values ($1, $2, $3, $4)", [
      tenantId,
      id,
      urlOf(index),
      keys.seal("webhooks", "secret", id, `whsec_${Buffer.alloc(32, 7).toString("base64")}`),
    ]);
    endpoints.push({ tenantId, id });
  }
  return endpoints;
}

/** So many events of each tenant, in one transaction. */
export async function addEvents(
  owner: pg.Client,
  endpoints: readonly Endpoint[],
  each: number,
): Promise<void> {
  await owner.query(
    `insert into events (tenant_id, kind, payload, created_at)
     select tenant, 'department.created', json_build_object('department_id', n), clock_timestamp()
     from generate_series(1, $2::integer) n, unnest($1::integer[]) tenant`,
    [endpoints.map(({ tenantId }) => tenantId), each],
  );
}

/** How many attempts were ever recorded: counting them would cost what is measured. */
export async function attemptsOf(owner: pg.Client): Promise<number> {
  const { rows } = await owner.query<{ given: number }>(
    "select case when is_called then last_value::integer else 0 end as given from delivery_attempts_id_seq",
  );
  return rows[0]?.given ?? 0;
}

/** Finished deliveries of past days, without what a trigger or a foreign key would cost. */
export async function fillLog(
  owner: pg.Client,
  endpoints: readonly Endpoint[],
  count: number,
): Promise<void> {
  await owner.query("set session_replication_role = replica");
  await owner.query(
    `insert into deliveries (tenant_id, target_id, event_id, seq, kind, payload, occurred_at, due_at, state, attempts,
       finished_at)
     select t.tenant_id, t.id, -n, -n, 'department.created', '{"department_id":1}', now(), now() - interval '1 day',
       case when n % 50 = 0 then 'failed' else 'succeeded' end, 1, now()
     from generate_series(1, $2::integer) n, delivery_targets t where t.id = any($1)`,
    [endpoints.map(({ id }) => id), Math.ceil(count / endpoints.length)],
  );
  await owner.query("reset session_replication_role");
  await owner.query("vacuum (analyze) deliveries");
}
