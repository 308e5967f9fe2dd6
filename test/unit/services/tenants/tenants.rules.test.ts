// What a subdomain is, and what the one key of a tenant's settings that the service reads may hold.
import { describe, expect, it } from "@jest/globals";
import {
  platformSubdomain,
  registrationMode,
  registrationModes,
  settingsFault,
  subdomainFault,
} from "../../../../services/tenants/tenants.rules.ts";

describe("a subdomain", () => {
  it.each([
    "abc",
    "a1b",
    "123",
    "a-b",
    "st-marys-hospital",
    "CliNic",
    "xn--mnchen-3ya",
    "a".repeat(63),
    "demo",
    "admin2",
  ])("%s is one", (subdomain) => {
    expect(subdomainFault(subdomain)).toBeUndefined();
  });

  it.each([
    "",
    "a",
    "ab",
    "-ab",
    "ab-",
    "a.b",
    "a b",
    " abc",
    "abc ",
    "abc\n",
    "a_b",
    "müller",
    "a".repeat(64),
    "ab/cd",
    "a\0b",
    "ａｂｃ",
    "İst",
    "ſhop",
    "--abc",
  ])("%j is none", (subdomain) => {
    expect(subdomainFault(subdomain)).toMatch(/^a subdomain is/);
  });

  it.each([
    "admin",
    "api",
    "www",
    "login",
    "metrics",
    "localhost",
    "webhooks",
    "ROOT",
    "Www",
    platformSubdomain,
  ])("%s is reserved", (subdomain) => {
    expect(subdomainFault(subdomain)).toBe("this subdomain is reserved");
  });

  it.each([undefined, null, 3, {}, []])("%j is left to the type check", (value) => {
    expect(subdomainFault(value)).toBeUndefined();
  });
});

describe("settings.registration", () => {
  it.each(registrationModes)("%s is allowed and counts before the default", (mode) => {
    expect(settingsFault({ registration: mode, other: 1 })).toBeUndefined();
    for (const otherwise of registrationModes)
      expect(registrationMode({ registration: mode }, otherwise)).toBe(mode);
  });

  it.each([null, "", "OPEN", "open ", 1, true, {}, ["open"]])("%j is refused", (registration) => {
    expect(settingsFault({ registration })).toMatch(/^settings\.registration is/);
  });

  it.each([{}, { registrations: "open" }])("%j leaves the default", (settings) => {
    expect(settingsFault(settings)).toBeUndefined();
    expect(registrationMode(settings, "closed")).toBe("closed");
  });

  it("what was stored before the rule falls back to the default", () => {
    expect(registrationMode({ registration: "anyone" }, "approval")).toBe("approval");
  });
});
