// Looks for a rotation to walk, takes its lease and walks at the pace that was set. Every crypto process has one of
// these; the lease lets one of them work, and another take over soon after it has died.
import { randomUUID } from "node:crypto";
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import { pause } from "../shared/pause.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { RotationTroubles } from "./rotation-troubles.ts";
import { leaseRenewed } from "./rotation-times.ts";
import { walk } from "./rotation-walk.ts";
import { sweepKeys } from "./sweep-keys.ts";

const lookEveryMs = 1_000;
const restMsMax = 2_000;
/** In times that processes hold keys: by default ten minutes. */
const holdsPerSweep = 10;

export class RotationWorker {
  readonly #runtime: Runtime;
  readonly #id = randomUUID();
  readonly #ending = new AbortController();
  readonly #troubles = new RotationTroubles();
  #loop: Promise<void> | undefined;
  #sweptAt = performance.now();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Resolves when the batch under way is written. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      const outcome = await this.#walkOnce().catch((error: unknown) => {
        // The database may be away; whatever it is, nothing is lost, and it is tried again.
        this.#runtime.log.warn({ err: error }, "the key rotation pauses");
        return "later" as const;
      });
      if (outcome === "later") await this.#sleep(lookEveryMs);
    }
    await this.#release().catch(() => undefined);
  }

  async #walkOnce(): Promise<"done" | "later"> {
    const rotationId = await this.#lease();
    if (rotationId === undefined) {
      this.#troubles.clear();
      await this.#sweepNowAndThen();
      return "later";
    }
    const share = this.#runtime.config.rotationPacePercent / 100;
    return walk({
      rotationId,
      walker: this.#id,
      runtime: this.#runtime,
      rest: (workedMs) => this.#sleep(Math.min(restMsMax, workedMs * (1 / share - 1))),
      stopped: () => this.#ending.signal.aborted,
      troubles: this.#troubles,
    });
  }

  async #sweepNowAndThen(): Promise<void> {
    const { keysHeldSeconds } = this.#runtime.config;
    if (performance.now() - this.#sweptAt < keysHeldSeconds * holdsPerSweep * 1_000) return;
    this.#sweptAt = performance.now();
    await sweepKeys(this.#runtime);
  }

  async #lease(): Promise<number | undefined> {
    const taken = await this.#runtime.database.writeOne<{ id: number }>(platform, Caller.system("crypto"), {
      name: "crypto.lease",
      // A lease far ahead was taken before the clock was set back.
      text: `update rotations set leased_by = $1::uuid, ${leaseRenewed},
          seen_at = coalesce(seen_at, clock_timestamp())
        where state = 'running' and (leased_by = $1::uuid or leased_until < now() or leased_until > now() + interval '1 minute')
        returning id`,
      values: [this.#id],
    });
    return taken?.id;
  }

  /** So that the next process need not wait for the lease to run out. */
  async #release(): Promise<void> {
    await this.#runtime.database.write(platform, Caller.system("crypto"), {
      name: "crypto.release",
      text: "update rotations set leased_until = now() where state = 'running' and leased_by = $1::uuid",
      values: [this.#id],
    });
  }

  async #sleep(ms: number): Promise<void> {
    if (ms <= 0) return;
    await pause(ms, this.#ending.signal);
  }
}
