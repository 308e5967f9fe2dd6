// Registering with an address that the mail server does not deliver to, at the running service.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { demoPassword, eventually, startService, type TestService } from "../support/service.ts";
import { type Catcher, catchMails } from "./smtp-catcher.ts";

let smtp: Catcher;
let service: TestService;
const greetings = new Set<string>();
beforeAll(async () => {
  smtp = await catchMails({
    hideSMTPUTF8: true,
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
