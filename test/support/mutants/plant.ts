// Planting one fault in a copy of the checkout, running the tests that must notice it, and taking it out again.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PlantedFault } from "./planted-fault.ts";

/** A test that waits for what a fault prevents ends by its own bound long before. */
const testsMsMax = 5 * 60_000;

/** `gone`: the text does not occur exactly once any more. */
export type Outcome = "noticed" | "not noticed" | "gone";

export interface Run {
  /** Titles of tests that failed, by test file. */
  failed: ReadonlyMap<string, readonly string[]>;
  /** Titles of all tests that ran, by test file. */
  ran: ReadonlyMap<string, readonly string[]>;
}

class NoReport extends Error {}

interface Report {
  testResults: { name: string; assertionResults: { status: string; fullName: string }[] }[];
}

export const occurrences = (text: string, part: string): number => text.split(part).length - 1;

/** @param copy a checkout in which nobody else works; it is as before afterwards */
export async function plant(copy: string, fault: PlantedFault, signal: AbortSignal): Promise<Outcome> {
  const path = join(copy, fault.file);
  const whole = await readFile(path, "utf8").catch(() => "");
  if (occurrences(whole, fault.text) !== 1) return "gone";
  await writeFile(path, whole.split(fault.text).join(fault.replacement));
  try {
    const { failed } = await runTests(copy, titlesOf(fault), signal);
    return Object.keys(fault.tests).every((file) => failed.has(file)) ? "noticed" : "not noticed";
  } catch (error) {
    // Tests that came to no end have said nothing.
    signal.throwIfAborted();
    if (error instanceof NoReport) return "not noticed";
    throw error;
  } finally {
    await writeFile(path, whole);
  }
}

const titlesOf = ({ tests }: PlantedFault) =>
  new Map(Object.entries(tests).map(([file, title]) => [file, [title]]));

/** Runs the tests of these titles, and no others of their files. @param tests titles by file */
export async function runTests(
  copy: string,
  tests: ReadonlyMap<string, readonly string[]>,
  signal: AbortSignal,
): Promise<Run> {
  signal.throwIfAborted();
  const files = [...tests.keys()];
  const titles = new Set([...tests.values()].flat());
  const pattern = [...titles].map((title) => title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  const report = join(copy, ".mutants-report.json");
  await rm(report, { force: true });
  const node = ["--experimental-vm-modules", "--disable-warning=ExperimentalWarning"];
  const jest = ["node_modules/jest/bin/jest.js", "--silent", "-w", "1", "--json", "--outputFile", report];
  // A group of its own, so that what a test started ends with it when time is up.
  const child = spawn(process.execPath, [...node, ...jest, "-t", pattern, "--runTestsByPath", ...files], {
    cwd: copy,
    stdio: "ignore",
    detached: true,
  });
  const end = () => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  };
  const late = setTimeout(end, testsMsMax * files.length);
  signal.addEventListener("abort", end);
  await once(child, "close");
  clearTimeout(late);
  signal.removeEventListener("abort", end);
  const text = await readFile(report, "utf8").catch(() => undefined);
  if (text === undefined) throw new NoReport(`The tests came to no end: ${files.join(", ")}`);
  // Written by Jest, of which these fields are the documented part.
  return outcomeOf(copy, JSON.parse(text) as Report);
}

function outcomeOf(copy: string, { testResults }: Report): Run {
  const [failed, ran] = [new Map<string, string[]>(), new Map<string, string[]>()];
  for (const { name, assertionResults } of testResults) {
    const titlesOf = (wanted: string) =>
      assertionResults.filter(({ status }) => status === wanted).map(({ fullName }) => fullName);
    const file = name.slice(copy.length + 1);
    ran.set(file, [...titlesOf("passed"), ...titlesOf("failed")]);
    if (titlesOf("failed").length > 0) failed.set(file, titlesOf("failed"));
  }
  return { failed, ran };
}
