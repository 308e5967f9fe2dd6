// Looks for a rotation, acquires its lease and executes it at the configured pace. Every crypto process has
// one worker; the lease lets one of them work, and another continue soon after it died.
import { randomUUID } from "node:crypto";
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import { pause } from "../shared/pause.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { TenantBackoff } from "./tenant-backoff.ts";
import { renewLeaseSql } from "./rotation-times.ts";
import { runRotation } from "./run-rotation.ts";
import { sweepKeys } from "./sweep-keys.ts";
import type { RowOf } from "../shared/database/row.ts";

const pollEveryMs = 1_000;
const throttleMsMax = 2_000;
/** In multiples of the time for which processes hold keys: ten minutes by default. */
const sweepEveryHoldTimes = 10;

/** The worker of this process. */
export class RotationWorker {
  readonly #runtime: Runtime;
  readonly #id = randomUUID();
  readonly #stopping = new AbortController();
  readonly #backoff = new TenantBackoff();
  #loop: Promise<void> | undefined;
  #sweptAt = performance.now();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Starts the loop. Idempotent. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** Resolves when the current batch is written and the lease is released. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const outcome = await this.#runOnce().catch((error: unknown) => {
        // For example the database is unavailable. Nothing is lost: the next attempt continues.
        this.#runtime.log.warn({ err: error }, "the key rotation pauses");
        return "later" as const;
      });
      if (outcome === "later") await this.#sleep(pollEveryMs);
    }
    await this.#releaseLease().catch(() => undefined);
  }

  async #runOnce(): Promise<"done" | "later"> {
    const rotationId = await this.#acquireLease();
    if (rotationId === undefined) {
      this.#backoff.clear();
      await this.#sweepIfDue();
      return "later";
    }
    const share = this.#runtime.config.rotationPacePercent / 100;
    return runRotation({
      rotationId,
      workerId: this.#id,
      runtime: this.#runtime,
      throttle: (workedMs) => this.#sleep(Math.min(throttleMsMax, workedMs * (1 / share - 1))),
      stopped: () => this.#stopping.signal.aborted,
      backoff: this.#backoff,
    });
  }

  async #sweepIfDue(): Promise<void> {
    const { keysHeldSeconds } = this.#runtime.config;
    if (performance.now() - this.#sweptAt < keysHeldSeconds * sweepEveryHoldTimes * 1_000) return;
    this.#sweptAt = performance.now();
    await sweepKeys(this.#runtime);
  }

  async #acquireLease(): Promise<number | undefined> {
    const taken = await this.#runtime.database.writeOne<RowOf<"rotations", "id">>(
      platform,
      Caller.system("crypto"),
      {
        name: "crypto.lease",
        // A lease that ends far in the future was acquired before the clock was set back.
        text: `update rotations set leased_by = $1::uuid, ${renewLeaseSql},
          seen_at = coalesce(seen_at, clock_timestamp())
        where state = 'running' and (leased_by = $1::uuid or leased_until < now() or leased_until > now() + interval '1 minute')
        returning id`,
        values: [this.#id],
      },
    );
    return taken?.id;
  }

  /** Releases the lease, so that the next process need not wait until it expires. */
  async #releaseLease(): Promise<void> {
    await this.#runtime.database.write(platform, Caller.system("crypto"), {
      name: "crypto.release",
      text: "update rotations set leased_until = now() where state = 'running' and leased_by = $1::uuid",
      values: [this.#id],
    });
  }

  async #sleep(ms: number): Promise<void> {
    if (ms <= 0) return;
    await pause(ms, this.#stopping.signal);
  }
}
