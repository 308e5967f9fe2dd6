// What signing in leaves behind ends: counts of failures, addresses that were long not seen, tokens and sessions.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { eventually, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeUser } from "../support/tenancy.ts";

let service: TestService;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
beforeAll(async () => {
  service = await startService();
  clinic = await makeClinic(service, await service.signIn("superadmin"));
});
afterAll(() => service.stop());

const query = (sql: string, values: unknown[] = []) => service.database.owner.query(sql, values);
const columnOf = async (sql: string, values: unknown[] = []): Promise<string[]> =>
  (await query(sql, values)).rows.map(({ value }) => value);

it("the sweep takes what counts no more, and nothing else", async () => {
  const { id } = await makeUser(service, clinic.token);
  const ids = [clinic.id, id];
  for (const [account, age] of [
    ["ghost:1", "49 hours"],
    ["ghost:2", "47 hours"],
    [`user:${id}`, "3 days"],
  ])
    await query(
      `insert into lockouts (tenant_id, account, state, updated_at) values ($1, $2, 'null', now() - $3::interval)`,
      [clinic.id, account, age],
    );
  for (const [address, age] of [
    ["192.0.2.1", "91 days"],
    ["192.0.2.2", "89 days"],
  ])
    await query(
      `insert into known_origins (tenant_id, user_id, address, seen_at) values ($1, $2, $3, now() - $4::interval)`,
      [...ids, address, age],
    );
  for (const [slot, life] of [
    [1, "-1 minute"],
    [2, "1 minute"],
  ])
    await query(
      `insert into mail_tokens (tenant_id, user_id, kind, slot, token_hash, expires_at)
       values ($1, $2, 'reset_password', $3::integer, sha256(convert_to($3::integer::text, 'UTF8')), now() + $4::interval)`,
      [...ids, slot, life],
    );
  await query("select graphile_worker.add_job('auth.sweep')");
  await eventually(async () => {
    const left = await columnOf("select address as value from known_origins where user_id = $1", [id]);
    return left.length === 1;
  });
  expect(await columnOf("select address as value from known_origins where user_id = $1", [id])).toEqual([
    "192.0.2.2",
  ]);
  const ours = "select account as value from lockouts where tenant_id = $1";
  expect(await columnOf(ours, [clinic.id])).toEqual(["ghost:2"]);
  await eventually(async () => {
    const slots = await columnOf("select slot::text as value from mail_tokens where user_id = $1", [id]);
    return slots.join() === "2";
  });
});
