// The bound on detectors: one that hangs is given up, and its runs do not pile up.
import { expect, it } from "@jest/globals";
import { RunLimiter } from "../../../../mixins/healing/run-limiter.ts";

const never = () => new Promise<string>(() => {});

it("gives what ends in time", async () => {
  const bounded = new RunLimiter(60_000);
  expect(await bounded.run("a", async () => "found")).toBe("found");
  await expect(bounded.run("a", () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
});

it("gives up what does not end, and whoever ends late ends for nobody", async () => {
  const bounded = new RunLimiter(20);
  let fail = (_error: Error): void => {};
  const late = new Promise<string>((_, reject) => {
    fail = reject;
  });
  await expect(bounded.run("a", () => late)).rejects.toMatchObject({ code: 503, type: "detector_late" });
  fail(new Error("unheard"));
  expect(await bounded.run("a", async () => "found")).toBe("found");
});

it("begins no fifth run of one that hangs; others are not held up, and an end makes room", async () => {
  const bounded = new RunLimiter(20);
  let end = (_found: string): void => {};
  const held = new Promise<string>((resolve) => {
    end = resolve;
  });
  const late = { type: "detector_late" };
  await expect(bounded.run("a", () => held)).rejects.toMatchObject(late);
  for (let run = 0; run < 3; run++) await expect(bounded.run("a", never)).rejects.toMatchObject(late);
  let begun = 0;
  const fifth = () => bounded.run("a", async () => `run ${++begun}`);
  await expect(fifth()).rejects.toMatchObject({ code: 503, type: "detector_busy" });
  expect(begun).toBe(0);
  expect(await bounded.run("b", async () => "found")).toBe("found");
  end("late");
  await held;
  expect(await fifth()).toBe("run 1");
});
