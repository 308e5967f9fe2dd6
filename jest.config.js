/** Node 24 runs the TypeScript itself; Jest only strips the types. */
export default {
  testEnvironment: "<rootDir>/test/support/environment.mjs",
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  // Minutes of killing processes: npm run test:faults.
  testPathIgnorePatterns: ["/node_modules/", "/test/faults/"],
  extensionsToTreatAsEsm: [".ts"],
  moduleFileExtensions: ["ts", "js", "json", "node"],
  transform: { "\\.ts$": "<rootDir>/test/support/strip-types.cjs" },
  reporters: ["default", "<rootDir>/test/support/reporter.mjs"],
  maxWorkers: 2,
  testTimeout: 240_000,
  openHandlesTimeout: 2_000,
};
