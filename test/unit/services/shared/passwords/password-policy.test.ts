import { describe, expect, it } from "@jest/globals";
import { createRequire } from "node:module";
import { isCommonPassword } from "../../../../../services/shared/passwords/common-passwords.ts";
import { passwordFault } from "../../../../../services/shared/passwords/password-policy.ts";
import { publishedDemoPassword } from "../../../../../services/shared/demo-sign-in.ts";

const about = {
  email: "anna.schmidt1980@charite.example",
  fullName: "Anna Maria Schmidt-Öztürk",
  subdomain: "westend",
  tenantName: "Klinikum Westend",
};

describe("a password is refused", () => {
  it.each([
    ["aaaaaaaa", /one character repeated/],
    ["AAAAaaaa", /one character repeated/],
    ["€€€€€€€€", /one character repeated/],
    ["12345678", /plain run/],
    ["87654321", /plain run/],
    ["7890123456", /plain run/],
    ["abcdefgh", /plain run/],
    ["ZYXWVUTS", /plain run/],
    ["qwertyuiop", /plain run/],
    ["poiuytrewq", /plain run/],
    ["asdfghjkl", /plain run/],
    ["password", /most common/],
    ["PassWord", /most common/],
    ["iloveyou", /most common/],
    ["trustno1", /most common/],
    ["ｐａｓｓｗｏｒｄ", /most common/],
    ["anna.schmidt1980", /e-mail/],
    ["annaschmidt1980", /e-mail/],
    ["Anna_Schmidt_1980", /e-mail/],
    ["annaschmidt", /e-mail/],
    ["anna.schmidt1980@charite.example", /e-mail/],
    ["ANNA.SCHMIDT1980!!!", /e-mail/],
    ["Schmidt1234", /name/],
    ["schmidt!", /name/],
    ["Maria2024!", /name/],
    ["anna1234", /name/],
    ["Anna Maria Schmidt-Öztürk", /name/],
    ["schmidtmaria1", /name/],
    ["öztürk99", /name/],
    ["westend1", /subdomain/],
    ["2024westend2024", /subdomain/],
    ["W.e.s.t.e.n.d.", /subdomain/],
    ["klinikum-24", /tenant's name/],
    ["schmidt@westend", /e-mail address, the name and the subdomain/],
  ])("%s", (password, reason) => expect(passwordFault(password, about)).toMatch(reason));
});

describe("a password is taken", () => {
  it.each([
    "Quiet-Harbour-58",
    "correct horse battery staple",
    "schmidt-likes-tea",
    "westend-girls",
    "4711-0815-2323",
    "пароль-длинный-7",
    "🦊🐻🐼🐨🐯🦁🐮🐷",
    "abcdefgz",
    "aaaaaaab1",
    publishedDemoPassword,
  ])("%s", (password) => expect(passwordFault(password, about)).toBeUndefined());

  it("when there is nothing to compare it with", () =>
    expect(passwordFault("Quiet-Harbour-58", { email: "", fullName: "", subdomain: "" })).toBeUndefined());
  it("when names and addresses hold no letters", () =>
    expect(
      passwordFault("4711-0815-23", { email: "1@2.3", fullName: "…", subdomain: "000" }),
    ).toBeUndefined());
  it("when it only shares a short name with the account", () =>
    expect(
      passwordFault("Li-Quiet-Harbour", { email: "li@a.example", fullName: "Bo Li", subdomain: "li" }),
    ).toBeUndefined());
});

describe("the list of common passwords", () => {
  it("holds well-known ones whatever their case", () => {
    for (const each of ["password1", "baseball", "superman", "sunshine", "princess", "STARWARS"])
      expect(isCommonPassword(each)).toBe(true);
  });
  it("comes as lower-case texts, most common first", () => {
    const all: unknown = createRequire(import.meta.url)("@zxcvbn-ts/language-common/src/passwords.json");
    expect(Array.isArray(all) && all.slice(0, 3)).toEqual(["123456", "password", "12345678"]);
    expect(
      Array.isArray(all) && all.every((each) => typeof each === "string" && each === each.toLowerCase()),
    ).toBe(true);
  });
  it("does not hold rare ones", () => {
    for (const each of ["", "Quiet-Harbour-58", "constructor", "__proto__"])
      expect(isCommonPassword(each)).toBe(false);
  });
});

it("a refusal is one sentence and does not repeat the password", () => {
  for (const password of ["iloveyou", "aaaaaaaa", "12345678", "westend1", "anna1234"]) {
    const fault = passwordFault(password, about) ?? "";
    expect(fault).toMatch(/^[A-Z].*[a-z]\.$/);
    expect(fault).not.toContain(password);
  }
});
