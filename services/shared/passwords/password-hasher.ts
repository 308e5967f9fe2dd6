/** Hashes and verifies passwords with argon2id in worker threads. One instance per process. */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { Argon2Pool } from "./argon2-pool.ts";
import type { PoolOptions } from "./argon2-pool.ts";
import { currentCost, dummyHash, formatPhc, parsePhc, saltBytes, tagBytes } from "./phc.ts";

/** Normalises passwords to NFC and hashes them with the current cost. */
export class PasswordHasher {
  readonly #pool: Argon2Pool;

  constructor(options: PoolOptions) {
    this.#pool = new Argon2Pool(options);
  }

  /** Password checks that wait or run. */
  get depth(): number {
    return this.#pool.depth;
  }

  /** Starts the threads before the first password. */
  start(): void {
    this.#pool.start();
  }

  /**
   * @returns a PHC string to store
   * @throws PasswordQueueFull, PasswordWorkerLost
   */
  async hash(password: string): Promise<string> {
    const salt = Uint8Array.from(randomBytes(saltBytes));
    const tag = await this.#pool.derive({ ...currentCost, password: normal(password), salt, tagBytes });
    return formatPhc({ ...currentCost, salt, tag: Uint8Array.from(tag) });
  }

  /**
   * @returns whether the password belongs to the hash. A malformed hash gives false after the same work; for an unknown
   * account pass `dummyHash()`.
   * @throws PasswordQueueFull, PasswordWorkerLost
   */
  async verify(phc: string, password: string): Promise<boolean> {
    const stored = parsePhc(phc);
    const { salt, tag, memoryKib, passes, lanes } = stored ?? parsePhc(dummyHash()) ?? neverParsed();
    const cost = { memoryKib, passes, lanes };
    const derived = await this.#pool.derive({
      ...cost,
      password: normal(password),
      salt,
      tagBytes: tag.length,
    });
    return timingSafeEqual(derived, tag) && stored !== undefined;
  }

  /** Call it when no request is in flight any more: running checks are rejected. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}

/** The same password typed on two keyboards may have two Unicode forms. */
const normal = (password: string) => password.normalize("NFC");

function neverParsed(): never {
  throw new Error("the dummy hash is malformed");
}
