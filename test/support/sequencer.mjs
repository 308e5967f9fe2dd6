// The order of the test files. Some mostly wait: for a lease to end, a retry, a second between two messages. Others compute.
// Both are begun side by side, each kind with its longest first, so that the processors are busy from the first minute to
// the last and nothing long is left over for the end.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import Sequencer from "@jest/test-sequencer";

/** Seconds on two quiet cores, of which less than a third is computing; to be looked at when the suite gets slow. */
const waiting = JSON.parse(readFileSync(join(import.meta.dirname, "waiting-files.json"), "utf8"));
const tests = join(import.meta.dirname, "..");
/** Of a file that was never run here. */
const msUnknown = 6_000;
const bytesPerMs = 4;

export default class WaitingBesideWorking extends Sequencer {
  sort(files) {
    const costs = new Map(files.map((file) => [file, this.#costOf(file)]));
    const sorted = files.toSorted((a, b) => costs.get(b) - costs.get(a));
    const kinds = [sorted.filter(waits), sorted.filter((file) => !waits(file))].map((members) => ({
      members,
      sum: members.reduce((total, file) => total + costs.get(file), 0),
    }));
    // Where each stands in its own kind, as a share of that kind's time.
    const places = kinds.flatMap(({ members, sum }) => {
      let before = 0;
      return members.map((file) => {
        const place = { file, at: before / sum };
        before += costs.get(file);
        return place;
      });
    });
    return places.toSorted((a, b) => a.at - b.at).map(({ file }) => file);
  }

  /** What it took last time, else what is known, else guessed by its size. */
  #costOf(file) {
    const known = waiting[nameOf(file)];
    const bytes = file.context.hasteFS.getSize(file.path) ?? 0;
    return this.time(file) ?? (known === undefined ? msUnknown + bytes / bytesPerMs : known * 1_000);
  }
}

const nameOf = ({ path }) => relative(tests, path).replace(/\.test\.ts$/, "");
const waits = (file) => waiting[nameOf(file)] !== undefined;
