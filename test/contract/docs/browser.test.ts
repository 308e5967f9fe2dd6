/** The documentation and the pages behind links of mails, in a real browser. */
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import type { Page } from "playwright-core";
import { mailTo, subjects, tokenIn } from "../../support/mailbox.ts";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { type Browser, canBrowse, inChromium, startBrowser } from "./browser.ts";

/** Kept where SCREENSHOTS names a folder, for people to look at. */
const kept = process.env.SCREENSHOTS;
const password = "a longer secret 81";
// Swagger UI draws for seconds where the processor is shared.
jest.setTimeout(60_000);

let service: TestService;
/** Undefined where it did not start: what is open then has to be closed all the same. */
let browserIfAny: Browser | undefined;
let browser: Browser;
let shots: string;

if (canBrowse) {
  beforeAll(async () => {
    shots = kept ?? (await mkdtemp(join(tmpdir(), "records-shots-")));
    await mkdir(shots, { recursive: true });
    service = await startService();
    browser = browserIfAny = await startBrowser(service.url);
  });
  afterAll(async () => {
    await browserIfAny?.close();
    await service.stop();
    if (kept === undefined) await rm(shots, { recursive: true, force: true });
  });
}

async function shoot(page: Page, name: string): Promise<void> {
  const path = join(shots, `${name}.png`);
  await page.screenshot({ path });
  expect((await stat(path)).size).toBeGreaterThan(4_000);
}

const answerOf = (page: Page) => page.locator("#answer p");
const inBrowser = canBrowse ? describe : describe.skip;

inBrowser(`the documentation, ${inChromium}`, () => {
  const operation = (page: Page, path: string) =>
    page.locator(".opblock", { has: page.locator(`[data-path="${path}"]`) }).first();

  async function execute(page: Page, path: string) {
    const block = operation(page, path);
    if ((await block.locator(".execute").count()) === 0)
      await block.locator(".opblock-summary-control").click();
    await block.locator(".execute").click();
    const answer = block.locator(".live-responses-table");
    await answer.waitFor();
    await block.locator(".loading-container").waitFor({ state: "detached" });
    return {
      status: await answer.locator(".response-col_status").last().innerText(),
      body: await answer.locator(".response-col_description .highlight-code").first().innerText(),
    };
  }

  async function authorise(page: Page, token: string): Promise<void> {
    await page.locator(".btn.authorize").click();
    await page.locator(".auth-container input").fill(token);
    await page.locator(".auth-btn-wrapper .authorize").click();
    await page.locator(".auth-btn-wrapper .btn-done").click();
  }

  it("signs in, authorises and shows the profile, asking nobody else", async () => {
    const page = await browser.open(`${service.url}/docs`);
    await operation(page, "/api/auth/login").waitFor();
    await shoot(page, "docs-light");
    const signedIn = await execute(page, "/api/auth/login");
    expect(signedIn.status).toContain("200");
    const token = /"access_token": "([\w.-]+)"/.exec(signedIn.body.replaceAll(/\n(?! )/g, ""))?.[1] ?? "";
    await authorise(page, token);
    const profile = await execute(page, "/api/users/me");
    expect(profile.status).toContain("200");
    expect(profile.body).toContain('"email": "doctor@demo.example"');
    await operation(page, "/api/users/me").scrollIntoViewIfNeeded();
    await shoot(page, "docs-profile");
    expect(browser.misdeeds()).toEqual([]);
    await page.close();
  });

  it("shows the 401 of a call without a token", async () => {
    const page = await browser.open(`${service.url}/docs`, "dark");
    await operation(page, "/api/users/me").waitFor();
    await shoot(page, "docs-dark");
    const { status, body } = await execute(page, "/api/users/me");
    expect(status).toContain("401");
    expect(body).toContain("not_authenticated");
    expect(browser.misdeeds()).toEqual([]);
    await page.close();
  });

  it("keeps the token over a reload, in this tab alone, and forgets it with a sign-out", async () => {
    const page = await browser.open(`${service.url}/docs`);
    await operation(page, "/api/users/me").waitFor();
    await authorise(page, await service.signIn("doctor"));
    await page.reload();
    await operation(page, "/api/users/me").waitFor();
    expect((await execute(page, "/api/users/me")).status).toContain("200");
    expect(await page.evaluate("JSON.stringify([localStorage, document.cookie])")).not.toMatch(/ey[\w-]+\./);
    const other = await browser.open(`${service.url}/docs`);
    await operation(other, "/api/users/me").waitFor();
    expect((await execute(other, "/api/users/me")).status).toContain("401");
    await other.close();
    await page.locator(".btn.authorize").first().click();
    await page.locator(".auth-btn-wrapper .btn", { hasText: "Logout" }).click();
    await page.locator(".auth-btn-wrapper .btn-done").click();
    await page.reload();
    await operation(page, "/api/users/me").waitFor();
    expect((await execute(page, "/api/users/me")).status).toContain("401");
    await page.close();
  });
});

inBrowser(`the page of the verification mail, ${inChromium}`, () => {
  let link: string;
  const email = "ada@clinic.example";

  async function signIn(): Promise<number> {
    return (await service.call("POST", "/api/auth/login", { body: { email, password, subdomain: "demo" } }))
      .status;
  }

  beforeAll(async () => {
    const body = { email, password, full_name: "Ada", role: "nurse", subdomain: "demo" };
    await service.call("POST", "/api/auth/register", { body });
    const mail = await mailTo(service, email, subjects.verify);
    const address = /http:\/\/records\.test(\/verify-email\?token=[\w-]+)/.exec(mail.text ?? "")?.[1];
    link = `${service.url}${address}`;
  });
  afterEach(() => expect(browser.misdeeds()).toEqual([]));

  it("uses no token by being opened", async () => {
    for (const colours of ["light", "dark"] as const) {
      const page = await browser.open(link, colours);
      await page.getByRole("button").waitFor();
      await shoot(page, `verify-email-${colours}`);
      await page.close();
    }
    expect(await signIn()).toBe(403);
  });

  it("takes the token out of the address bar", async () => {
    const page = await browser.open(link);
    await page.getByRole("button").waitFor();
    expect(page.url()).toBe(`${service.url}/verify-email`);
    await page.reload();
    await expect(answerOf(page).innerText()).resolves.toMatch(/whole link/);
    expect(await page.getByRole("button").count()).toBe(0);
    await page.close();
  });

  it("asks for the registration's password, and says when it is not the one", async () => {
    const page = await browser.open(link);
    const field = page.getByLabel("Password of the registration");
    for (const [typed, words] of [
      ["", /^Password of the registration: please type it\.$/],
      ["some other secret 5", /^This is not the password of the registration\.$/],
    ] as const) {
      await field.fill(typed);
      await page.getByRole("button").click();
      await page.locator("#answer.bad").waitFor();
      await page.locator("button:enabled").waitFor();
      expect(await answerOf(page).allInnerTexts()).toEqual([expect.stringMatching(words)]);
      expect(await page.evaluate("document.activeElement.id")).toBe("password");
      await page.evaluate("document.querySelector('#answer').replaceChildren()");
    }
    expect(await signIn()).toBe(403);
    await page.close();
  });

  it("says when the service cannot be reached, and verifies on the next try, all by keyboard", async () => {
    const page = await browser.open(link);
    await page.getByRole("button").waitFor();
    await browser.disconnect();
    // The choice, then the password.
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.type(password);
    await page.keyboard.press("Enter");
    await expect(answerOf(page).innerText()).resolves.toMatch(/could not be reached/);
    await browser.connect();
    expect(await signIn()).toBe(403);
    await page.getByRole("button").focus();
    await page.keyboard.press("Enter");
    await page.locator("#answer.good").waitFor();
    expect(await answerOf(page).allInnerTexts()).toEqual(["The e-mail address is verified."]);
    expect(await page.getByRole("button").count()).toBe(0);
    expect(await signIn()).toBe(200);
    await page.close();
  });

  it("says that a used link is used", async () => {
    const page = await browser.open(link);
    await page.getByLabel("Password of the registration").fill(password);
    await page.getByRole("button").click();
    await page.locator("#answer.bad").waitFor();
    expect(await answerOf(page).allInnerTexts()).toEqual([
      "The token is invalid or expired.",
      expect.stringMatching(/ask for a new mail/),
    ]);
    expect(await page.getByRole("button").count()).toBe(0);
    await page.close();
  });

  it("lets whoever did not register choose a password: the registration's is void", async () => {
    const body = {
      email: "eve@clinic.example",
      password,
      full_name: "Eve",
      role: "nurse",
      subdomain: "demo",
    };
    await service.call("POST", "/api/auth/register", { body });
    const mail = await mailTo(service, body.email, subjects.verify);
    const page = await browser.open(`${service.url}/verify-email?token=${tokenIn(mail)}`);
    await page.getByLabel("A new one").check();
    expect(await page.getByLabel("New password").getAttribute("autocomplete")).toBe("new-password");
    const send = async (first: string, second: string) => {
      await page.getByLabel("New password").fill(first);
      await page.getByLabel("The same again").fill(second);
      const answered = first === second ? page.waitForResponse("**/api/auth/verify-email*") : undefined;
      await page.getByRole("button").click();
      await answered;
      await page.locator("button:enabled").waitFor({ state: "attached" });
      return answerOf(page).allInnerTexts();
    };
    expect(await send("one secret here", "another secret")).toEqual(["The two passwords differ."]);
    expect(await send("short", "short")).toEqual(["The password should have at least 8 characters."]);
    await shoot(page, "verify-email-new-password");
    expect(await send("her own secret 77", "her own secret 77")).toEqual([
      "The e-mail address is verified, and the new password is set.",
    ]);
    await expect(service.signInAs(body.email, "demo", "her own secret 77")).resolves.toBeTruthy();
    await expect(service.signInAs(body.email, "demo", password)).rejects.toThrow("401");
    await page.close();
  });
});

inBrowser(`the page of the password mail, ${inChromium}`, () => {
  let page: Page;
  let link: string;
  const email = "nurse@demo.example";

  async function send(first: string, second = first): Promise<string[]> {
    await page.getByLabel("New password").fill(first);
    await page.getByLabel("The same again").fill(second);
    const answered = first === second ? page.waitForResponse("**/api/auth/reset-password") : undefined;
    await page.getByRole("button").click();
    await answered;
    await page.locator("button:enabled").waitFor({ state: "attached" });
    return answerOf(page).allInnerTexts();
  }

  beforeAll(async () => {
    await service.call("POST", "/api/auth/request-reset", { body: { email, subdomain: "demo" } });
    const mail = await mailTo(service, email, subjects.reset);
    link = `${service.url}/reset-password?token=${tokenIn(mail)}`;
    expect(mail.text).toContain(link.replace(service.url, "http://records.test"));
    page = await browser.open(link);
  });
  afterAll(() => page.close());
  afterEach(() => expect(browser.misdeeds()).toEqual([]));

  it("takes the token out of the address bar", () => {
    expect(page.url()).toBe(`${service.url}/reset-password`);
  });

  it.each([
    ["two that differ", "one secret here", "another secret", /^The two passwords differ\.$/],
    ["a short one", "short", "short", /^The password should have at least 8 characters\.$/],
    ["none", "", "", /^The password should have at least 8 characters\.$/],
    ["a common one", "password1234", "password1234", /^The password .*common/],
  ])("refuses %s in plain words and puts the cursor there", async (_name, first, second, words) => {
    const sentences = await send(first, second);
    expect(sentences).toEqual([expect.stringMatching(words)]);
    expect(await page.evaluate("document.activeElement.getAttribute('aria-invalid')")).toBe("true");
  });

  it("is good to look at in light and dark", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await shoot(page, `reset-password-${colorScheme}`);
    }
  });

  it("shows what is typed when asked to", async () => {
    await page.getByLabel("Show what I type").check();
    expect(await page.getByLabel("New password").getAttribute("type")).toBe("text");
    await page.getByLabel("Show what I type").uncheck();
    expect(await page.getByLabel("New password").getAttribute("type")).toBe("password");
  });

  it("sets the password, which works from then on, and the old one no more", async () => {
    expect(await send("a better secret 93")).toEqual(["The password is changed; sign in with the new one."]);
    expect(await page.getByRole("button").count()).toBe(0);
    await expect(service.signInAs(email, "demo", "a better secret 93")).resolves.toBeTruthy();
    await expect(service.signInAs(email, "demo")).rejects.toThrow("401");
  });

  it("says that a used link is used", async () => {
    await page.goto(link);
    expect(await send("yet another secret 94")).toEqual([
      "The token is invalid or expired.",
      expect.stringMatching(/ask for a new mail/),
    ]);
  });
});

// Last, as these misdeeds are meant.
inBrowser(`the policy of the pages, ${inChromium}`, () => {
  const attempts: [string, string, string][] = [
    [
      "an inline script",
      `const script = document.createElement("script");
       script.textContent = "document.title = 'broken'"; document.body.append(script);`,
      "policy: script-src-elem inline",
    ],
    ["code made of text", "new Function('return 1')();", "policy: script-src eval"],
    [
      "a foreign script",
      `const script = document.createElement("script");
       script.src = "http://elsewhere.test/x.js"; document.body.append(script);`,
      "policy: script-src-elem http://elsewhere.test/x.js",
    ],
    [
      "a foreign request",
      "fetch('http://elsewhere.test/').catch(() => {});",
      "policy: connect-src http://elsewhere.test/",
    ],
    [
      "a foreign picture",
      "new Image().src = 'http://elsewhere.test/x.png';",
      "policy: img-src http://elsewhere.test/x.png",
    ],
  ];

  it.each(attempts)("refuses %s", async (_name, script, refusal) => {
    const page = await browser.open(`${service.url}/`);
    const before = browser.misdeeds().length;
    // A task of the page's own: what the test's connection evaluates is not held by the policy.
    await page.evaluate(`setTimeout(() => { ${script} })`);
    await eventually(async () => browser.misdeeds().slice(before).includes(refusal));
    expect(await page.title()).not.toBe("broken");
    await page.close();
  });
});
