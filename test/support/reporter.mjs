// Beside Jest's own reporter: at the beginning how long it takes, at the end which suites were skipped, and why. The reason
// is part of a suite's name ("… (skipped: no nats-server on PATH)"), or the name of what was skipped.
import { relative } from "node:path";

/** The whole suite, on two cores that have nothing else to do. */
const minutesOfAll = 14;
const wholeFrom = 100;
const linesMax = 40;

export default class Reporter {
  #root;

  constructor({ rootDir }) {
    this.#root = rootDir;
  }

  onRunStart({ numTotalTestSuites: files }) {
    if (files >= wholeFrom)
      say(
        `${files} files of tests: about ${minutesOfAll} minutes on two cores. A part of them: npm test -- test/api/login`,
      );
  }

  onRunComplete(_contexts, { testResults }) {
    const skipped = new Map();
    for (const { testFilePath, testResults: tests } of testResults) {
      for (const { status, ancestorTitles, title } of tests) {
        if (status !== "pending") continue;
        const suite =
          ancestorTitles.find((each) => each.includes("skipped:")) ?? [...ancestorTitles, title].join(" › ");
        const line = `${relative(this.#root, testFilePath)}: ${suite}`;
        skipped.set(line, (skipped.get(line) ?? 0) + 1);
      }
    }
    if (skipped.size === 0) return;
    say("Skipped:");
    for (const [line, tests] of [...skipped].slice(0, linesMax)) say(`  ${line} (${tests})`);
    if (skipped.size > linesMax) say(`  and ${skipped.size - linesMax} more`);
  }
}

const say = (line) => process.stderr.write(`${line}\n`);
