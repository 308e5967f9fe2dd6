// The question at the end of a signed-in user's change, against the view that every request is judged by, in each state a
// session can be in; and what a change leaves when the answer is no.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Caller } from "../../../services/shared/caller.ts";
import { sessionLives } from "../../../services/shared/database/live-session.ts";
import { platform } from "../../../services/shared/database/scope.ts";
import { type Filled, fillTenant, openScene, type Scene } from "./scene.ts";

let scene: Scene;
let clinic: Filled;
let other: Filled;
let sessionId = "";

beforeAll(async () => {
  scene = await openScene();
  clinic = await fillTenant(scene.owner, "one-clinic");
  other = await fillTenant(scene.owner, "other-clinic");
  const { rows } = await scene.owner.query("select id from sessions where tenant_id = $1", [clinic.tenantId]);
  sessionId = rows[0].id;
});
afterAll(() => scene.stop());

function caller(more: object = {}): Caller {
  const principal = {
    kind: "user" as const,
    userId: clinic.doctorId,
    tenantId: clinic.tenantId,
    role: "doctor" as const,
    departmentId: clinic.departmentId,
    canSeeAllPatients: false,
    sessionId,
    readAt: 0,
    ...more,
  };
  return new Caller({ principal, via: "test", requestId: "live", ip: null, userAgent: null });
}

const ended = { code: 401, type: "invalid_token" };
const audited = async () =>
  (await scene.owner.query("select count(*)::integer as n from audit_entries where action = 'user.test'"))
    .rows[0].n;

/** A change that leaves an entry, if it is committed. */
function change(by: Caller, scope: { tenantId: number } | "platform" = { tenantId: clinic.tenantId }) {
  const tenantId = scope === "platform" ? clinic.tenantId : scope.tenantId;
  return scene.connected.database.change(scope, by, async (made) => {
    made.audit({ tenantId, action: "user.test" });
  });
}

describe.each([
  ["nothing", ""],
  ["the session was ended", "update sessions set ended_at = now() where tenant_id = $1"],
  [
    "the session has expired",
    "update sessions set expires_at = now() - interval '1 second' where tenant_id = $1",
  ],
  ["the session is gone", "delete from sessions where tenant_id = $1"],
  ["the user was blocked", "update users set is_active = false where tenant_id = $1"],
  ["the user was deleted", "update users set deleted_at = now() where tenant_id = $1"],
  [
    "the user's sessions were ended",
    "update users set session_epoch = session_epoch + 1 where tenant_id = $1",
  ],
  ["the user has another role", "update users set role = 'nurse' where tenant_id = $1"],
  ["the tenant was closed", "update tenants set is_active = false where id = $1"],
  ["the tenant was deleted", "update tenants set deleted_at = now() where id = $1"],
  ["the tenant's sessions were ended", "update tenants set session_epoch = session_epoch + 1 where id = $1"],
])("when %s", (name, statement) => {
  it("the question and the view agree", async () => {
    const { owner } = scene;
    await owner.query("begin");
    if (statement !== "") await owner.query(statement, [clinic.tenantId]);
    const values = [clinic.tenantId, sessionId, clinic.doctorId, "doctor"];
    const { rows: asked } = await owner.query(sessionLives, values);
    const { rows: seen } = await owner.query(
      `select exists (select from live_sessions where tenant_id = $1 and id = $2 and user_id = $3 and role = $4) as lives`,
      values,
    );
    await owner.query("rollback");
    expect(asked).toEqual(seen);
    expect(asked).toEqual([{ lives: name === "nothing" }]);
  });
});

describe("a change", () => {
  it("of a session that lives is made, in whichever scope", async () => {
    const before = await audited();
    await change(caller());
    await change(caller(), platform);
    expect(await audited()).toBe(before + 2);
  });

  it.each([
    ["of no session", { sessionId: "00000000-0000-4000-8000-000000000000" }],
    ["of another role", { role: "admin" }],
    ["of another user's session", { userId: 0 }],
    ["of another tenant's session, in its own", { tenantId: 0 }],
  ])("%s is not", async (_name, more) => {
    const before = await audited();
    const by = caller(more);
    const scope = "tenantId" in more ? platform : { tenantId: clinic.tenantId };
    await expect(change(by, scope)).rejects.toMatchObject(ended);
    expect(await audited()).toBe(before);
  });

  it("in another tenant asks after the session in its own: superadmins work there", async () => {
    await scene.owner.query("update users set role = 'superadmin' where id = $1", [clinic.doctorId]);
    const before = await audited();
    await change(caller({ role: "superadmin" }), { tenantId: other.tenantId });
    expect(await audited()).toBe(before + 1);
    await scene.owner.query("update users set role = 'doctor' where id = $1", [clinic.doctorId]);
    await expect(change(caller({ role: "superadmin" }), { tenantId: other.tenantId })).rejects.toMatchObject(
      ended,
    );
    expect(await audited()).toBe(before + 1);
  });

  it("of the service itself, or of nobody, is asked after no session", async () => {
    const before = await audited();
    await change(Caller.system("test"));
    const anonymous = { principal: { kind: "anonymous" as const }, via: "test", requestId: "live" };
    await change(new Caller({ ...anonymous, ip: null, userAgent: null }));
    expect(await audited()).toBe(before + 2);
  });
});
