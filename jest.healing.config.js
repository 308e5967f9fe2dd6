// Self-healing beside all other tests (npm run test:healing): nothing healthy may be mended (test/support/healing-watch.ts).
import base from "./jest.config.js";

process.env["RECORDS_TEST_HEALING"] = "1";

export default {
  ...base,
  // It breaks things and counts what comes of it.
  testPathIgnorePatterns: [
    ...base.testPathIgnorePatterns,
    "/test/api/self-healing/",
    "/test/cluster/self-healing",
  ],
};
