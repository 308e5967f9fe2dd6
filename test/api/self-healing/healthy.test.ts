// All 56 operations of the interface, each with its success, on one service whose fixes are all confirmed and whose faults are
// looked for again and again meanwhile: nothing is healed, as nothing is wrong.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { ended, makePatient, openClinic } from "../backups/scene.ts";
import { type BotApi, startBotApi } from "../../support/bot-api.ts";
import { type HealingWatch, watchHealing } from "../../support/healing-watch.ts";
import { mailTo, subjects, tokenIn } from "../../support/mailbox.ts";
import { askCode, newChat } from "../../support/messenger.ts";
import { cardBody, cardSignature, paymentSettings, walletBody } from "../../support/notifications.ts";
import { routeOf } from "../../support/refusals.ts";
import { demoPassword, eventually, startService, type TestService } from "../../support/service.ts";
import { makeUser } from "../../support/tenancy.ts";
import { startReceiver } from "../../support/webhooks.ts";

let api: BotApi;
let service: TestService;
let watch: HealingWatch;
beforeAll(async () => {
  api = await startBotApi();
  service = await startService({
    ...api.settings,
    ...paymentSettings,
    WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8",
  });
  watch = await watchHealing(service.database.url);
});
afterAll(async () => {
  await watch?.end();
  await service?.stop();
  await api?.stop();
});

const called = new Map<string, number>();

/** @returns the answer's body. @throws unless it is a success */
async function call(method: string, path: string, token?: string, body?: unknown, headers = {}) {
  const answer = await service.call(method, path, { ...(token && { token }), body, headers });
  if (answer.status >= 300)
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  called.set(`${method} ${routeOf(method, path)?.path}`, answer.status);
  return answer.body;
}

it("nothing healthy is touched while every operation is used", async () => {
  const superadmin = await service.signIn("superadmin");
  const clinic = await openClinic(service, superadmin);
  const { token } = clinic;

  const accounts = async () => {
    const { subdomain } = clinic;
    const email = "self@people.example";
    await call("GET", "/api/auth/tenants");
    await call("PUT", `/api/admin/tenants/${clinic.id}`, token, { settings: { registration: "open" } });
    const department = await call("POST", "/api/admin/departments", token, { name: "Ward" });
    await call("GET", `/api/auth/departments?subdomain=${subdomain}`);
    const body = { email, password: demoPassword, full_name: "Self Made", role: "nurse", subdomain };
    await call("POST", "/api/auth/register", undefined, { ...body, department_id: null });
    const mail = await mailTo(service, email, subjects.verify);
    await call("POST", `/api/auth/verify-email?token=${tokenIn(mail)}`);
    await call("POST", "/api/auth/resend-verification", undefined, { email, subdomain });
    await call("POST", "/api/auth/request-reset", undefined, { email, subdomain });
    await call("POST", "/api/auth/login", undefined, { email, password: demoPassword, subdomain });
    const head = await makeUser(service, token, { role: "head_doctor" });
    await call("PUT", `/api/admin/departments/${department.id}`, token, { head_doctor_id: head.id });
    await call("GET", "/api/admin/departments", token);
    await call("DELETE", `/api/admin/departments/${department.id}`, token);
    const person = await call("POST", "/api/admin/users", token, {
      email: "made@people.example",
      password: demoPassword,
      full_name: "Made Person",
      role: "doctor",
    });
    for (const way of ["block", "unblock"]) await call("POST", `/api/admin/users/${person.id}/${way}`, token);
    await call("PUT", `/api/admin/users/${person.id}/role`, token, { role: "nurse" });
    await call("GET", "/api/admin/users", token);
    await call("DELETE", `/api/admin/users/${person.id}`, token);
    for (const path of ["/api/auth/me", "/api/users/me", "/api/preferences"]) await call("GET", path, token);
    await call("PUT", "/api/preferences", token, { theme: "dark", settings: { a: 1 } });
    await call("PUT", "/api/preferences/theme", token, { theme: "light" });
    await call("GET", "/api/admin/audit", token);
  };

  const tenants = async () => {
    const body = { name: "Other", subdomain: "other-clinic", settings: {} };
    const made = await call("POST", "/api/admin/tenants", superadmin, body);
    await call("GET", `/api/admin/tenants/${made.id}`, superadmin);
    await call("GET", "/api/admin/tenants", superadmin);
    await call("DELETE", `/api/admin/tenants/${made.id}`, superadmin);
  };

  const messages = async () => {
    const code = await askCode(api, newChat());
    await call("POST", "/api/messenger/link", token, { code });
    await call("POST", "/api/messenger/subscribe", token, { events: ["user.created"] });
    await call("GET", "/api/messenger/status", token);
    await call("DELETE", "/api/messenger/link", token);
    const sink = await startReceiver();
    try {
      const hook = await call("POST", "/api/webhooks/register", token, { url: sink.url, events: ["*"] });
      await call("POST", `/api/webhooks/${hook.id}/test`, token);
      await call("GET", "/api/webhooks", token);
      await call("PUT", `/api/webhooks/${hook.id}`, token, { is_active: false });
      await call("DELETE", `/api/webhooks/${hook.id}`, token);
    } finally {
      await sink.stop();
    }
    const card = cardBody({ id: "healthy", tenant: clinic.subdomain });
    await call("POST", "/webhooks/card-provider", undefined, card, {
      "provider-signature": cardSignature(card),
    });
    await call(
      "POST",
      "/webhooks/wallet-provider",
      undefined,
      walletBody({ id: "healthy", tenant: clinic.subdomain }),
    );
  };

  const patients = async () => {
    const ids: number[] = [];
    for (let made = 0; made < 12; made++) ids.push((await makePatient(service, token, `Patient ${made}`)).id);
    for (const id of ids) await call("GET", `/api/patients/${id}`, token);
    await call("POST", "/api/admin/cache/warmup", token, { patient_ids: ids });
    await call("GET", "/api/admin/cache/stats", token);
    await call("POST", "/api/admin/cache/cleanup", token);
    await call("POST", "/api/admin/cache/invalidate", token, { patient_id: ids[0] });
  };

  const backups = async () => {
    const begun = await call("POST", "/api/admin/backup/create", token, { type: "tenant" });
    expect(await ended(service, token, begun.job_id)).toMatchObject({ status: "succeeded" });
    await call("GET", `/api/admin/backup/status/${begun.job_id}`, token);
    await call("GET", "/api/admin/backup/list", token);
    await call("GET", `/api/admin/backup/download/${begun.backup_id}`, token);
    const restored = await call("POST", "/api/admin/backup/restore", token, {
      backup_id: begun.backup_id,
      confirm: true,
    });
    expect(await ended(service, token, restored.job_id)).toMatchObject({ status: "succeeded" });
    await call("DELETE", `/api/admin/backup/${begun.backup_id}`, token);
  };

  const platform = async () => {
    await call("POST", "/api/admin/encryption/rotate", superadmin, {
      new_key: randomBytes(32).toString("base64"),
    });
    await call("GET", "/api/admin/health", superadmin);
    await call("POST", "/api/admin/self-healing/seed-fixes", superadmin);
    await call("GET", "/api/admin/self-healing/stats", superadmin);
    const { items } = await call("GET", "/api/admin/self-healing/fixes", superadmin);
    const fix = items.find(({ code }: { code: string }) => code === "user_counts_differ");
    await call("POST", `/api/admin/self-healing/confirm/${fix.id}`, superadmin);
  };

  for (const part of [accounts, tenants, messages, patients, backups, platform]) {
    const before = watch.rounds();
    await part();
    // A whole round that began while this was going on, and one after it.
    await eventually(async () => watch.rounds() >= before + 2);
    expect([part.name, await watch.touched()]).toEqual([part.name, []]);
  }
  const { items } = await call("GET", "/api/admin/self-healing/fixes", superadmin);
  await call("DELETE", `/api/admin/self-healing/fixes/${items.at(-1).id}`, superadmin);

  const operations = JSON.parse(
    readFileSync(new URL("../../contract/operations.json", import.meta.url), "utf8"),
  ) as { method: string; path: string; success: number }[];
  const left = operations.filter(({ method, path, success }) => called.get(`${method} ${path}`) !== success);
  expect(operations).toHaveLength(56);
  expect(left.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  const { rows } = await service.database.owner.query("select code, target, evidence from incidents");
  expect(rows).toEqual([]);
});
