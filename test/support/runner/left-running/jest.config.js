/** For leftovers.test.ts: the settings of all tests, over one of the files beside this one. */
import base from "../../../../jest.config.js";

export default {
  ...base,
  rootDir: "../../../..",
  reporters: ["default"],
  testEnvironmentOptions: { endMsMax: 500 },
  // With a limit Jest takes a worker for a single file too, unless it is told --runInBand.
  workerIdleMemoryLimit: "4GB",
};
