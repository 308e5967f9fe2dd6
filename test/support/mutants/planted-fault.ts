// What a planted fault is: a place in the sources, what stands there instead, and the tests that must fail with it.

export interface PlantedFault {
  /** One sentence: what is wrong with the service that has it. Names the fault, so no two have the same. */
  says: string;
  /** From the top of the checkout. */
  file: string;
  /** Occurs exactly once in the file. */
  text: string;
  replacement: string;
  /** By test file: the title, or a part of it, of a test that fails; "" where the file's tests build on each other. */
  tests: Readonly<Record<string, string>>;
}
