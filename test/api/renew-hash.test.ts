// A password whose hash is cheaper than today's is hashed anew by signing in with it, and by nothing else.
import { argon2Sync, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Caller } from "../../services/shared/caller.ts";
import { type Cost, currentCost, formatPhc } from "../../services/shared/passwords/phc.ts";
import { traceOf } from "../support/journal.ts";
import { mailTo, subjects, tokenIn } from "../support/mailbox.ts";
import { type Operator, startOperator } from "../support/operator.ts";
import { type Answer, demoPassword, eventually, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeUser, type Made } from "../support/tenancy.ts";

let service: TestService;
let operator: Operator;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
beforeAll(async () => {
  service = await startService({ ARGON2_WORKERS: "1" });
  operator = await startOperator(service);
  clinic = await makeClinic(service, await service.signIn("superadmin"));
});
afterAll(async () => {
  await operator.stop();
  await service.stop();
});

const cheap: Cost = { memoryKib: 8_192, passes: 1, lanes: 1 };
const dear: Cost = { memoryKib: 24_576, passes: 2, lanes: 1 };
const today = `m=${currentCost.memoryKib},t=${currentCost.passes},p=${currentCost.lanes}`;

function hashAt({ memoryKib: memory, passes, lanes: parallelism }: Cost): string {
  const salt = Uint8Array.from(randomBytes(16));
  const options = { message: demoPassword, nonce: salt, memory, passes, parallelism, tagLength: 32 };
  const tag = Uint8Array.from(argon2Sync("argon2id", options));
  return formatPhc({ memoryKib: memory, passes, lanes: parallelism, salt, tag });
}

async function userWith(cost: Cost): Promise<Made & { hash: string }> {
  const user = await makeUser(service, clinic.token);
  const hash = hashAt(cost);
  await service.database.owner.query("update users set password_hash = $1 where id = $2", [hash, user.id]);
  return { ...user, hash };
}
const hashOf = async ({ id }: { id: number }): Promise<string> =>
  (await service.database.owner.query("select password_hash from users where id = $1", [id])).rows[0]
    .password_hash;
const signIn = ({ email }: { email: string }, password = demoPassword): Promise<Answer> =>
  service.call("POST", "/api/auth/login", { body: { email, password, subdomain: clinic.subdomain } });
const renewed = (user: { id: number }) =>
  eventually(async () => {
    const hash = await hashOf(user);
    return hash.includes(today) && hash;
  });
const renewals = (entries: { action: string }[]) =>
  entries.filter(({ action }) => action === "user.renew_hash");

describe("signing in", () => {
  it("gives a cheap hash today's cost, audits it, and ends no session", async () => {
    const user = await userWith(cheap);
    let token = "";
    const { entries, events } = await traceOf(service, async () => {
      token = (await signIn(user)).body.access_token;
      await renewed(user);
    });
    expect(renewals(entries)).toMatchObject([
      { tenant_id: clinic.id, outcome: "ok", target_id: String(user.id), changes: {} },
    ]);
    expect(JSON.stringify(entries)).not.toContain("argon2");
    expect(events).toEqual([]);
    expect((await service.call("GET", "/api/users/me", { token })).status).toBe(200);
    expect((await signIn(user)).status).toBe(200);
    expect((await signIn(user, "wrong-password")).status).toBe(401);
  });

  it("leaves what costs as much or more, what was not opened, and what was not right", async () => {
    const same = await userWith(currentCost);
    const more = await userWith(dear);
    const untouched = await userWith(cheap);
    const blocked = await userWith(cheap);
    await service.call("POST", `/api/admin/users/${blocked.id}/block`, { token: clinic.token });
    expect((await signIn(same)).status).toBe(200);
    expect((await signIn(more)).status).toBe(200);
    expect((await signIn(untouched, "wrong-password")).status).toBe(401);
    expect((await signIn(blocked)).status).toBe(403);
    // Whatever these had begun would be done when this one is.
    const last = await userWith(cheap);
    expect((await signIn(last)).status).toBe(200);
    await renewed(last);
    for (const user of [same, more, untouched, blocked]) expect(await hashOf(user)).toBe(user.hash);
  });

  it("of many at once lets the passwords that wait go first", async () => {
    const users: Awaited<ReturnType<typeof userWith>>[] = [];
    for (let made = 0; made < 12; made++) users.push(await userWith(cheap));
    const answers = await Promise.all(users.map((user) => signIn(user)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const last = await userWith(cheap);
    await eventually(async () => {
      await signIn(last);
      return (await hashOf(last)).includes(today);
    });
    const hashes: string[] = [];
    for (const user of users) hashes.push(await hashOf(user));
    expect(hashes.filter((hash) => hash.includes(today)).length).toBeLessThan(12);
  });
});

describe("a renewal that comes late", () => {
  it("undoes no change of the password, and is no entry", async () => {
    const user = await userWith(cheap);
    const body = { email: user.email, subdomain: clinic.subdomain };
    await service.call("POST", "/api/auth/request-reset", { body });
    const token = tokenIn(await mailTo(service, user.email, subjects.reset));
    const reset = { token, new_password: "Quite-Another-Secret-8" };
    expect((await service.call("POST", "/api/auth/reset-password", { body: reset })).status).toBe(200);
    const changed = await hashOf(user);
    // As `auth` saw it when the old password was right.
    const renewal = { tenant_id: clinic.id, user_id: user.id, user_epoch: 0, new_hash: hashAt(dear) };
    const { entries } = await traceOf(service, () =>
      operator.call("accounts.renew_hash", renewal, Caller.system("auth")),
    );
    expect(entries).toEqual([]);
    expect(await hashOf(user)).toBe(changed);
  });

  it("is taken from auth alone", async () => {
    const user = await userWith(cheap);
    const renewal = { tenant_id: clinic.id, user_id: user.id, user_epoch: 0, new_hash: hashAt(dear) };
    for (const by of [undefined, Caller.system("users"), Caller.system("")])
      await expect(operator.call("accounts.renew_hash", renewal, by)).rejects.toMatchObject({ code: 403 });
    expect(await hashOf(user)).toBe(user.hash);
  });
});
