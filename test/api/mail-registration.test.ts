// The mail server of the running service: registering with an address that it does not deliver to, and health while it hangs.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { demoPassword, eventually, startService, type TestService } from "../support/service.ts";
import { type Catcher, catchMails } from "../unit/services/mail/smtp-catcher.ts";

let smtp: Catcher;
let service: TestService;
const greetings = new Set<string>();
let isHanging = false;
beforeAll(async () => {
  smtp = await catchMails({
    hideSMTPUTF8: true,
    onConnect(_session, done) {
      if (!isHanging) done();
    },
    onMailFrom(_address, session, done) {
      greetings.add(session.hostNameAppearsAs || "");
      done();
    },
  });
  service = await startService({ SMTP_URL: `smtp://127.0.0.1:${smtp.port}` });
});
afterAll(async () => {
  await service.stop();
  await smtp.close();
});

const register = (email: string) =>
  service.call("POST", "/api/auth/register", {
    body: { email, password: `${demoPassword}-of-mine`, full_name: "A B", role: "doctor", subdomain: "demo" },
  });

it("is refused by its field, and nobody is made", async () => {
  const answer = await register("jörg@care.example");
  expect([answer.status, answer.body.detail]).toEqual([
    422,
    [
      expect.objectContaining({
        loc: ["body", "email"],
        msg: expect.stringContaining("letters only before the @"),
      }),
    ],
  ]);
  const { rows } = await service.database.owner.query("select from users where email like 'j%@care.example'");
  expect(rows).toEqual([]);
});

it("a domain with such letters is taken: its mail comes, from the host of PUBLIC_URL", async () => {
  expect((await register("joerg@bücher.example")).status).toBe(201);
  await eventually(async () => smtp.mails.length > 0);
  // The catcher shows domains in their own letters, however they were sent.
  expect(smtp.mails[0]?.to).toEqual(["joerg@bücher.example"]);
  expect([...greetings]).toEqual(["records.test"]);
});

it("one that takes connections and says nothing is down in health, which does not wait for it", async () => {
  const token = await service.signIn("superadmin");
  const health = async () => (await service.call("GET", "/api/admin/health", { token })).body;
  expect(await health()).toMatchObject({ status: "ok", checks: { mail: "ok" } });
  isHanging = true;
  const beganAt = performance.now();
  expect(await health()).toMatchObject({ status: "degraded", checks: { postgres: "ok", mail: "down" } });
  // A check has two seconds; without that the report would end with the request's ten, as 503.
  expect(performance.now() - beganAt).toBeLessThan(8_000);
  isHanging = false;
  await eventually(async () => (await health()).checks.mail === "ok");
});
