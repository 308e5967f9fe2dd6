/** Node 24 runs the TypeScript itself; Jest only strips the types. */
export default {
  testEnvironment: "<rootDir>/test/support/environment.mjs",
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  // Minutes of killing processes: npm run test:faults.
  testPathIgnorePatterns: ["/node_modules/", "/test/cluster/faults/"],
  extensionsToTreatAsEsm: [".ts"],
  moduleFileExtensions: ["ts", "js", "json", "node"],
  transform: { "\\.ts$": "<rootDir>/test/support/strip-types.cjs" },
  reporters: ["default", "<rootDir>/test/support/reporter.mjs"],
  testSequencer: "<rootDir>/test/support/sequencer.mjs",
  // Twice the cores of the smallest machine: half the files wait for most of their time.
  maxWorkers: 4,
  testTimeout: 240_000,
  openHandlesTimeout: 2_000,
};
