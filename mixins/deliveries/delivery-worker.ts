// Makes the deliveries of one channel. Looks four times a second for events to fan out and targets that are due, leases
// those targets, and tells each in the order of its events, retries between. Any number of processes may run one: a lease
// keeps two from speaking to one target. All it knows is in the database; after a kill another goes on where it stood, and
// only what was in flight may be told a second time, under the same id.
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Runtime } from "../../host/process/runtime.ts";
import { follow } from "../../services/shared/tracing.ts";
import type { Attempt, Channel, Delivery, Outcome } from "./channel.ts";
import { cancelDue, readDue, type Result, writeResults } from "./due-deliveries.ts";
import { fanOut } from "./fan-out.ts";
import { LeasedTargets } from "./leased-targets.ts";
import type { TargetQueue } from "./target-queue.ts";
import { look } from "./leases.ts";
import { Recorder } from "./recorder.ts";
import { nextOf } from "./retry.rules.ts";
import { type RetryDelays, retryDelaysOf } from "./retry-delays.ts";

const lookEveryMs = 250;
const breathMs = 5;
const settingsHeldMs = 1_000;
const readEachMax = 100;
/** A target's next deliveries are read while fewer than so many wait. */
const lowWater = 30;
const unwrittenMax = 2_000;
const cancelMax = 2_000;
const cancelRoundsMax = 10;
const stopMsMax = 10_000;

interface Done<Settings> extends Result, Outcome<Settings> {
  lane: TargetQueue<Settings>;
}

export class DeliveryWorker<Settings> {
  readonly #runtime: Runtime;
  readonly #channel: Channel<Settings>;
  readonly #waits: RetryDelays;
  readonly #held: LeasedTargets<Settings>;
  readonly #recorder: Recorder<Done<Settings>>;
  readonly #ending = new AbortController();
  /** Ends what is in flight, when stopping takes too long. */
  readonly #cutting = new AbortController();
  #wake: () => void = () => {};
  #loop: Promise<void> | undefined;
  #isAway = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #mayQueueMore = false;

  constructor(runtime: Runtime, channel: Channel<Settings>) {
    this.#runtime = runtime;
    this.#channel = channel;
    this.#waits = retryDelaysOf(runtime.config);
    this.#held = new LeasedTargets(runtime.database, channel.name, randomUUID());
    this.#recorder = new Recorder(
      (batch) => this.#write(batch),
      (error) => runtime.log.warn({ err: error }, "results of deliveries wait for the database"),
    );
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** What is in flight ends or is given back; what came of it is written; then the targets are let go. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#loop;
    const late = setTimeout(() => this.#cutting.abort(), stopMsMax);
    while (this.#held.turns.inFlight > 0) await delay(20);
    clearTimeout(late);
    await this.#recorder.close();
    await this.#held.release().catch(() => undefined);
  }

  async #run(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      try {
        const isBusy = await this.#round();
        if (this.#isAway) this.#runtime.log.info({ channel: this.#channel.name }, "deliveries go on");
        this.#isAway = false;
        await this.#sleep(isBusy ? breathMs : lookEveryMs);
      } catch (error) {
        // Nothing is lost by waiting; said once per outage.
        if (!this.#isAway) this.#runtime.log.warn({ err: error }, "deliveries wait");
        this.#isAway = true;
        await this.#sleep(lookEveryMs * 2);
      }
    }
  }

  /** @returns whether there is more to do at once */
  async #round(): Promise<boolean> {
    if (this.#mayQueueMore || performance.now() - this.#lookedAt >= lookEveryMs) await this.#lookAround();
    await this.#held.renewNowAndThen();
    await this.#learnSettings();
    await this.#read();
    this.#pump();
    await this.#held.letGoIdle();
    return this.#mayQueueMore || this.#held.lanes.some((lane) => isHungry(lane) && lane.mayHaveMore);
  }

  /** Not in every round: looking into an empty queue means walking past all that has just left it. */
  async #lookAround(): Promise<void> {
    this.#lookedAt = performance.now();
    const { database } = this.#runtime;
    const found = this.#mayQueueMore ? undefined : await look(database, this.#channel.name);
    const isQueued = this.#mayQueueMore || found?.queued === true;
    this.#mayQueueMore =
      isQueued &&
      (await fanOut(database, this.#waits, (tenantId, error) => {
        this.#runtime.log.error({ tenantId, err: error }, "a tenant's events wait");
      }));
    if (isQueued || found?.due === true) await this.#held.leaseDue();
  }

  async #learnSettings(): Promise<void> {
    const now = performance.now();
    const stale = this.#held.lanes.filter((lane) => now - lane.settingsAt >= settingsHeldMs);
    if (stale.length === 0) return;
    const settings = await this.#channel.settingsOf(stale);
    for (const lane of stale) {
      lane.settings = settings.get(lane.targetId);
      lane.settingsAt = now;
    }
    const gone = stale.filter((lane) => lane.settings === undefined);
    if (gone.length === 0) return;
    for (const lane of gone) lane.drop();
    for (let round = 0; round < cancelRoundsMax; round++) {
      if (!(await cancelDue(this.#runtime.database, gone, cancelMax))) return;
    }
  }

  async #read(): Promise<void> {
    const hungry = this.#held.lanes.filter(isHungry);
    if (hungry.length === 0 || this.#recorder.size > unwrittenMax) return;
    // An id leaves `busy` only after its result was committed, so what is read now and not busy is really due.
    const busy = hungry.flatMap((lane) => [...lane.busy]);
    const found = new Map<number, Delivery[]>();
    for (const delivery of await readDue(this.#runtime.database, hungry, busy, readEachMax)) {
      const list = found.get(delivery.targetId);
      if (list === undefined) found.set(delivery.targetId, [delivery]);
      else list.push(delivery);
    }
    for (const lane of hungry) {
      const list = found.get(lane.targetId) ?? [];
      lane.mayHaveMore = list.length >= readEachMax;
      for (const delivery of list) lane.fill(delivery);
    }
  }

  #pump(): void {
    if (this.#ending.signal.aborted) return;
    this.#held.turns.run(performance.now(), (lane, delivery, settings) => {
      void this.#send(lane, delivery, settings);
    });
  }

  async #send(lane: TargetQueue<Settings>, delivery: Delivery, settings: Settings): Promise<void> {
    const attempt = await this.#tell(delivery, settings);
    this.#runtime.metrics?.delivery(this.#channel.name, attempt.outcome, attempt.durationMs / 1000);
    lane.ended(attempt.outcome === "delivered" || attempt.outcome === "withheld");
    this.#held.turns.ended(lane);
    if (attempt.outcome === "unsent") lane.busy.delete(delivery.id);
    else {
      const next = nextOf(attempt, delivery.tries, this.#waits[this.#channel.name], Math.random());
      this.#recorder.add({ lane, delivery, attempt, settings, next });
    }
    if (isHungry(lane) && lane.mayHaveMore) this.#wake();
    this.#pump();
  }

  /** In the trace in which the event was told, where that is recorded; what goes on afterwards is not. */
  async #tell(delivery: Delivery, settings: Settings): Promise<Attempt> {
    const facts = { "records.event": delivery.kind, "records.attempt": delivery.attempts + 1 };
    const name = `deliver ${this.#channel.name}`;
    const span = this.#runtime.tracing.tracer?.goOn(delivery.trace, name, "client", facts);
    const trail = span === undefined ? undefined : { requestId: undefined, span };
    const attempt = await follow(trail, () => this.#channel.send(delivery, settings, this.#cutting.signal));
    if (attempt.statusCode !== null) span?.note({ "http.response.status_code": attempt.statusCode });
    span?.note({ "records.outcome": attempt.outcome });
    span?.end(attempt.outcome === "failed" || attempt.outcome === "gone" ? attempt.outcome : undefined);
    return attempt;
  }

  async #write(batch: readonly Done<Settings>[]): Promise<void> {
    await writeResults(this.#runtime.database, batch);
    await this.#channel.recorded?.(batch).catch((error: unknown) => {
      this.#runtime.log.warn({ err: error }, "what follows from deliveries was left out");
    });
    for (const { lane, delivery } of batch) lane.busy.delete(delivery.id);
  }

  async #sleep(ms: number): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    const timer = new AbortController();
    const signal = AbortSignal.any([this.#ending.signal, timer.signal]);
    await Promise.race([delay(ms, undefined, { signal }).catch(() => undefined), woken]);
    timer.abort();
  }
}

function isHungry(lane: TargetQueue<unknown>): boolean {
  return lane.waiting.length < lowWater && lane.settings !== undefined && lane.settings !== "later";
}
