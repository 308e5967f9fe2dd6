/** A real Chromium with a profile of its own, and what its pages did that they should not have. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
/** Where there is no Chromium the tests are skipped, except in CI, where they fail. */
export const canBrowse = existsSync(executablePath) || process.env.CI === "true";
export const inChromium = canBrowse
  ? "in Chromium"
  : `skipped: no Chromium at ${executablePath}, set CHROMIUM`;

const actionMsMax = 20_000;
const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Browser {
  open(address: string, colorScheme?: "light" | "dark"): Promise<Page>;
  /** Requests to other origins than `origin`, policy violations, errors of scripts and of the console. */
  misdeeds(): string[];
  /** Pages go on, but nothing can be reached. */
  disconnect(): Promise<void>;
  connect(): Promise<void>;
  close(): Promise<void>;
}

export async function startBrowser(origin: string): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), "records-browser-"));
  const launch = chromium.launchPersistentContext(profile, { executablePath, args: quiet });
  const context = await launch.catch(async (error: unknown) => {
    await rm(profile, { recursive: true, force: true });
    throw error;
  });
  context.setDefaultTimeout(actionMsMax);
  const misdeeds: string[] = [];
  await watch(context, origin, misdeeds);
  return {
    async open(address, colorScheme = "light") {
      const page = await context.newPage();
      await page.emulateMedia({ colorScheme });
      await page.goto(address);
      return page;
    },
    misdeeds: () => [...misdeeds],
    disconnect: () => context.setOffline(true),
    connect: () => context.setOffline(false),
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

async function watch(context: BrowserContext, origin: string, misdeeds: string[]): Promise<void> {
  await context.exposeFunction("reportViolation", (what: string) => void misdeeds.push(`policy: ${what}`));
  await context.addInitScript({
    content: `addEventListener("securitypolicyviolation", (event) =>
      reportViolation(event.effectiveDirective + " " + event.blockedURI));`,
  });
  context.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith("data:")) misdeeds.push(`request: ${url}`);
  });
  context.on("weberror", (error) => misdeeds.push(`script: ${error.error().message}`));
  context.on("console", (message) => {
    const { url } = message.location();
    // The browser says so of every answer that is an error; those of the interface are often what is tested.
    const isAnswer = url.startsWith(`${origin}/api/`) && message.text().startsWith("Failed to load resource");
    if (["error", "warning"].includes(message.type()) && !isAnswer)
      misdeeds.push(`console: ${message.text()}`);
  });
}
