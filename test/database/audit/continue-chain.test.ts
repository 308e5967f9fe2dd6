// Whether a log continues what was signed of it, on a real database, in as many goes as it takes.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { Link } from "../../../services/audit/audit.rules.ts";
import { continueChain } from "../../../services/audit/checkpoints/continue-chain.ts";
import { openScene, type Scene } from "../tenancy/scene.ts";
import { asOwner, rehash } from "../../support/checkpoint-scene.ts";

let scene: Scene;
let tenantId = 100;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.stop());
beforeEach(() => {
  tenantId++;
});

const write = (count: number) =>
  scene.owner.query(
    "insert into audit_entries (tenant_id, action, outcome) select $1, 'test.bulk', 'ok' from generate_series(1, $2)",
    [tenantId, count],
  );
const at = async (seq: number): Promise<Link> => {
  const { rows } = await scene.owner.query(
    "select seq::integer, encode(hash, 'hex') as hash from audit_entries where tenant_id = $1 and seq = $2",
    [tenantId, seq],
  );
  return rows[0];
};
const forever = Number.POSITIVE_INFINITY;
const go = (signed: Link | undefined, head: Link | undefined, deadline = forever) =>
  continueChain(scene.connected.database, tenantId, { signed, head }, deadline);
const fine = { bad: [], firstBad: null };
const forge = (...statements: string[]) => asOwner(scene, ...statements);

describe("a log", () => {
  it("that grew is recomputed from what was signed to its head", async () => {
    await write(30);
    const [signed, head] = [await at(10), await at(30)];
    expect(await go(undefined, head)).toEqual({ reached: head, ...fine });
    expect(await go(signed, head)).toEqual({ reached: head, ...fine });
    expect(await go(head, head)).toEqual({ reached: head, ...fine });
    expect(await go(undefined, undefined)).toMatchObject(fine);
  });

  it("that is long is signed as far as time allowed, and goes on from there", async () => {
    await write(2_300);
    const head = await at(2_300);
    const first = await go(undefined, head, 0);
    expect(first).toEqual({ reached: await at(1_000), ...fine });
    const second = await go(first.reached, head, 0);
    expect(second).toEqual({ reached: await at(2_000), ...fine });
    expect(await go(second.reached, head, 0)).toEqual({ reached: head, ...fine });
  });

  it("whose signed entry was hashed anew does not continue, though all after it does", async () => {
    await write(30);
    const signed = await at(10);
    await forge(
      `update audit_entries set ip = '::1' where tenant_id = ${tenantId} and seq = 4`,
      rehash(tenantId, 4),
    );
    const head = await at(30);
    const { reached, bad } = await go(signed, head);
    expect(reached).toEqual(head);
    expect(bad).toEqual([{ seq: 10, to_seq: 10, reason: "checkpoint" }]);
    // Also where nothing came since.
    expect((await go(signed, await at(10))).firstBad).toBe(10);
  });

  it("of which an entry was altered since is found so, and signed to its head", async () => {
    await write(30);
    const [signed, head] = [await at(10), await at(30)];
    await forge(`update audit_entries set ip = '::1' where tenant_id = ${tenantId} and seq = 20`);
    expect(await go(signed, head)).toEqual({
      reached: head,
      bad: [{ seq: 20, to_seq: 20, reason: "hash" }],
      firstBad: 20,
    });
  });

  it("that lost its end, its beginning, or all of it is found so", async () => {
    await write(30);
    const [signed, head] = [await at(20), await at(30)];
    await forge(`delete from audit_entries where tenant_id = ${tenantId} and seq > 25`);
    expect((await go(signed, head)).bad).toEqual([{ seq: 26, to_seq: 30, reason: "missing" }]);
    expect(await go(signed, await at(10))).toMatchObject({ reached: await at(10), firstBad: 11 });
    expect((await go(signed, undefined)).bad).toEqual([{ seq: 1, to_seq: 20, reason: "checkpoint" }]);
  });

  it("whose head names another hash is found so", async () => {
    await write(3);
    expect((await go(undefined, { seq: 3, hash: "00".repeat(32) })).bad).toEqual([
      { seq: 3, to_seq: 3, reason: "head" },
    ]);
  });
});
