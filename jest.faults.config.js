/** Processes that are killed, stopped and cut off, for minutes: one suite after the other, apart from `npm test`. */
import base from "./jest.config.js";

export default {
  ...base,
  testMatch: ["<rootDir>/test/cluster/faults/**/*.test.ts"],
  testPathIgnorePatterns: ["/node_modules/"],
  maxWorkers: 1,
  testTimeout: 15 * 60_000,
};
