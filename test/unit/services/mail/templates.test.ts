import { describe, expect, it } from "@jest/globals";
import { hashMailToken, newMailToken } from "../../../../services/users/mail-token.ts";
import {
  accountApproved,
  passwordChanged,
  resetPassword,
  verifyEmail,
} from "../../../../services/mail/templates.ts";

const site = { publicUrl: "https://care.example/app", operator: "Care & Co" };
const recipient = { fullName: "Anna O'Neill", tenantName: "Klinik <West>" };
const { token } = newMailToken();
const hostile = { fullName: "<img src=x onerror=alert(1)>", tenantName: '"><script>x</script>\r\nBcc: a@b' };

const letters = (of = recipient, at = site) =>
  [
    verifyEmail(at, of, token),
    resetPassword(at, of, token),
    passwordChanged(at, of),
    accountApproved(at, of),
  ] as const;
const named = (of = recipient, at = site) =>
  letters(of, at).map(
    (each, index) => [["verify", "reset", "changed", "approved"][index] ?? "", each] as const,
  );

describe("a mail with a token", () => {
  it("links to the public address and shows the call that verifies", () => {
    const { text, html } = verifyEmail(site, recipient, token);
    expect(text).toContain(`\nhttps://care.example/app/verify-email?token=${token}\n`);
    expect(text).toContain(`POST https://care.example/app/api/auth/verify-email?token=${token}`);
    expect(html).toContain(`href="https://care.example/app/verify-email?token=${token}"`);
  });
  it("links to the public address and shows the call that resets", () => {
    const { text, html } = resetPassword(site, recipient, token);
    expect(text).toContain(`\nhttps://care.example/app/reset-password?token=${token}\n`);
    expect(text).toContain("POST https://care.example/app/api/auth/reset-password\n");
    expect(text).toContain(`{"token":"${token}","new_password":"..."}`);
    expect(html).toContain(`href="https://care.example/app/reset-password?token=${token}"`);
  });
  it("encodes a token that is not one of ours", () =>
    expect(verifyEmail(site, recipient, "a&b=c d/é").text).toContain("?token=a%26b%3Dc%20d%2F%C3%A9\n"));
});

describe("a mail that asks whether one registered", () => {
  const registered = {
    role: "doctor",
    department: "Herz & Kreislauf",
    registeredAt: "2026-11-21T18:24:31.123Z",
    ip: "2001:db8::7",
  };
  const described =
    "Role: doctor\nDepartment: Herz & Kreislauf\nWhen: 2026-11-21 18:24 UTC\nFrom the address: 2001:db8::7";
  it("says what was registered, when and from where, and what to do if it was somebody else", () => {
    const { text, html } = verifyEmail(site, recipient, token, registered);
    expect(text).toContain(`\nName: Anna O'Neill\n${described}\n`);
    expect(text).toContain("If it was not you, do not confirm it, and ignore this mail");
    expect(html).toContain("Department: Herz &#38; Kreislauf");
  });
  it("repeats no name that is none", () => {
    const { text, html } = verifyEmail(site, hostile, token, registered);
    expect(text).toContain(`\nName: one that this mail does not repeat\n${described}\n`);
    expect(`${text}${html}`).not.toContain("onerror");
  });
  it("says of what is not known that it is not", () => {
    const { text } = verifyEmail(site, recipient, token, { ...registered, department: null, ip: null });
    expect(text).toContain("Department: none\n");
    expect(text).toContain("From the address: unknown\n");
  });
  it("never shows a call that confirms without a password", () => {
    const { text } = verifyEmail(site, recipient, token, registered);
    expect(text).toContain(
      `POST https://care.example/app/api/auth/verify-email?token=${token}\n{"password":"..."}`,
    );
  });
});

describe.each(named())("the %s mail", (_, { subject, text, html }) => {
  it("greets by a plain name and names the tenant", () => {
    expect(text).toContain("Hello Anna O'Neill,");
    expect(text).toContain("Klinik <West>");
  });
  it("escapes every value in HTML", () => {
    expect(html).toContain("Klinik &#60;West&#62;");
    expect(html).toContain("Care &#38; Co");
    expect(html).toContain("O&#39;Neill");
  });
  it("has a subject of one line and links nowhere else", () => {
    expect(subject).toMatch(/^\P{Cc}{10,100}$/u);
    for (const [address] of `${text}${html}`.matchAll(/https?:[^\s"<]+/g))
      expect(address.startsWith(site.publicUrl)).toBe(true);
  });
  it("loads nothing from anywhere", () =>
    expect(html).not.toMatch(/<(?:img|link|script|style|iframe)|url\(|src=/i));
});

describe.each(named(hostile, { ...site, operator: "A\r\nBcc: a@b" }))(
  "the %s mail with hostile values",
  (_, mail) => {
    it("keeps them out of headers, markup and structure", () => {
      expect(mail.subject).not.toMatch(/\p{Cc}/u);
      expect(mail.html).not.toMatch(/<img|<script/);
      expect(mail.text).not.toMatch(/^Bcc:/m);
    });
    it("does not greet by them", () => expect(mail.text).toMatch(/^Hello,\n/));
  },
);

describe("a name", () => {
  const greetingOf = (fullName: string) =>
    passwordChanged(site, { ...recipient, fullName }).text.split("\n")[0];
  it.each(["Anna", "Dr. Anna Schmidt-Öztürk", "Nguyễn Văn A", "李小龙", "J. R. O’Hara"])(
    "%s is greeted",
    (name) => expect(greetingOf(name)).toBe(`Hello ${name},`),
  );
  it.each([
    "",
    "Win at evil.example",
    "http://evil.example",
    "You won 1000",
    "Call me now and get this great prize today",
    "x".repeat(41),
    "Anna\nBcc",
    "Anna\u202Eanna",
  ])("%j is not", (name) => expect(greetingOf(name)).toBe("Hello,"));
});

describe("a mail token", () => {
  it("is 43 characters of base64url, new each time", () => {
    const tokens = Array.from({ length: 100 }, () => newMailToken().token);
    for (const each of tokens) expect(each).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(new Set(tokens).size).toBe(100);
  });
  it("is found again by its hash alone", () => {
    const made = newMailToken();
    expect(made.hash).toHaveLength(32);
    expect(hashMailToken(made.token).equals(made.hash)).toBe(true);
  });
  it.each(["", "x", "\0", "é".repeat(100)])("%j has another hash", (other) => {
    expect(hashMailToken(other).equals(newMailToken().hash)).toBe(false);
    expect(hashMailToken(other)).toHaveLength(32);
  });
});
