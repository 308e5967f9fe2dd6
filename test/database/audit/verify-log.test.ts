// A log too long to be proved in one call is proved by several, and what one of them has not proved yet, the next does.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { makeUnfinished, type Unfinished, verifyLog } from "../../../services/audit/verify-audit.ts";
import { openScene, type Scene } from "../tenancy/scene.ts";

const entries = 2_500;
let scene: Scene;
/** A log is there without its tenant, as after the purge. */
let tenantId = 100;
let unfinished: Unfinished;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.stop());
beforeEach(async () => {
  tenantId++;
  await write(entries);
  unfinished = makeUnfinished();
});

const write = (count: number) =>
  scene.owner.query(
    "insert into audit_entries (tenant_id, action, outcome) select $1, 'test.bulk', 'ok' from generate_series(1, $2)",
    [tenantId, count],
  );
/** As whoever owns the database could. */
async function forge(seq: number): Promise<void> {
  await scene.owner.query("begin");
  await scene.owner.query("set local session_replication_role = replica");
  await scene.owner.query("update audit_entries set outcome = 'denied' where tenant_id = $1 and seq = $2", [
    tenantId,
    seq,
  ]);
  await scene.owner.query("commit");
}
/** One call that may prove one batch, of a thousand. */
const once = () => verifyLog(scene.connected.database, tenantId, unfinished, 0);
const refused = (proved: number, of = entries) => ({
  code: 503,
  type: "verification_unfinished",
  message: `The log is long: ${proved} of ${of} entries are proved, ask again to go on`,
});

describe("a log that takes longer than a call may", () => {
  it("is proved by asking again, and then from the beginning", async () => {
    await expect(once()).rejects.toMatchObject(refused(1_000));
    await expect(once()).rejects.toMatchObject(refused(2_000));
    expect(await once()).toMatchObject({ ok: true, checked: entries, first_bad_seq: null });
    await expect(once()).rejects.toMatchObject(refused(1_000));
  });

  it("may grow meanwhile", async () => {
    await expect(once()).rejects.toMatchObject(refused(1_000));
    await write(600);
    await expect(once()).rejects.toMatchObject(refused(2_000, entries + 600));
    await expect(once()).rejects.toMatchObject(refused(3_000, entries + 600));
    expect(await once()).toMatchObject({ ok: true, checked: entries + 600, first_bad_seq: null });
  });

  it("is found altered where it was not proved yet", async () => {
    await expect(once()).rejects.toMatchObject(refused(1_000));
    await forge(2_222);
    await expect(once()).rejects.toMatchObject(refused(2_000));
    expect(await once()).toMatchObject({
      ok: false,
      checked: entries,
      first_bad_seq: 2_222,
      bad: [{ seq: 2_222, to_seq: 2_222, reason: "hash" }],
    });
  });

  it("keeps what it has found from one call to the next", async () => {
    await forge(7);
    await forge(1_700);
    await expect(once()).rejects.toMatchObject(refused(1_000));
    await expect(once()).rejects.toMatchObject(refused(2_000));
    await forge(2_400);
    const { first_bad_seq: first, bad, bad_total: all } = await once();
    expect([first, all]).toEqual([7, 3]);
    expect(bad.map(({ seq, reason }) => `${seq} ${reason}`)).toEqual(["7 hash", "1700 hash", "2400 hash"]);
  });

  it("is found altered where it was proved already, the next time from the beginning", async () => {
    await expect(once()).rejects.toMatchObject(refused(1_000));
    await forge(7);
    expect(await verifyLog(scene.connected.database, tenantId, unfinished, 8_000)).toMatchObject({
      ok: true,
    });
    await expect(once()).rejects.toMatchObject(refused(1_000));
    await expect(once()).rejects.toMatchObject(refused(2_000));
    expect(await once()).toMatchObject({ ok: false, checked: entries, first_bad_seq: 7, bad_total: 1 });
  });

  it("is found cut, also behind what was proved", async () => {
    await expect(once()).rejects.toMatchObject(refused(1_000));
    await expect(once()).rejects.toMatchObject(refused(2_000));
    await scene.owner.query("begin");
    await scene.owner.query("set local session_replication_role = replica");
    await scene.owner.query("delete from audit_entries where tenant_id = $1 and seq > 1500", [tenantId]);
    await scene.owner.query("commit");
    const bad = [{ seq: 2_001, to_seq: entries, reason: "missing" }];
    expect(await once()).toMatchObject({
      ok: false,
      checked: 2_000,
      first_bad_seq: 2_001,
      bad,
      bad_total: 1,
    });
  });

  it("of one tenant leaves another's proof alone", async () => {
    const first = tenantId;
    await expect(once()).rejects.toMatchObject(refused(1_000));
    expect(await verifyLog(scene.connected.database, 0, unfinished, 0)).toMatchObject({
      ok: true,
      checked: 0,
    });
    tenantId = first;
    await expect(once()).rejects.toMatchObject(refused(2_000));
  });
});

it("a log that fits is proved in one call, however little time there is", async () => {
  tenantId++;
  await write(1_000);
  expect(await once()).toMatchObject({ ok: true, checked: 1_000, first_bad_seq: null });
});
