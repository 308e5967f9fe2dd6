// Makes the deliveries of one channel. Four times a second the worker looks for events to fan out and for targets with due
// deliveries. It leases those targets and sends to each of them in the order of its events, with retries in between. Any number
// of processes may run a worker: the lease keeps two workers from sending to the same target. All state is in the database: when
// a process is killed another one continues. Only deliveries that were in flight may be sent a second time, under the same id.
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Runtime } from "../../host/process/runtime.ts";
import { runInContext } from "../../services/shared/tracing.ts";
import type { Attempt, Channel, Delivery, AttemptOutcome } from "./channel.ts";
import { inBatches } from "../../services/shared/in-batches.ts";
import { cancelDue, readDue, type DeliveryResult, writeResults } from "./due-deliveries.ts";
import { fanOut } from "./fan-out.ts";
import { LeasedTargets } from "./leased-targets.ts";
import type { TargetQueue } from "./target-queue.ts";
import { findWork } from "./leases.ts";
import { Recorder } from "./recorder.ts";
import { nextStateOf } from "./retry.rules.ts";
import { type RetryDelays, retryDelaysOf } from "./retry-delays.ts";

const pollEveryMs = 250;
const busyPauseMs = 5;
const settingsCachedMs = 1_000;
const readEachMax = 100;
/** A target's next deliveries are read when fewer than this number wait. */
const waitingMin = 30;
const unwrittenMax = 2_000;
const cancelMax = 2_000;
const cancelRoundsMax = 10;
const stopMsMax = 10_000;

interface RecordedDelivery<Settings> extends DeliveryResult, AttemptOutcome<Settings> {
  queue: TargetQueue<Settings>;
}

/** The worker of one channel in one process. `start` and `stop` are called once. */
export class DeliveryWorker<Settings> {
  readonly #runtime: Runtime;
  readonly #channel: Channel<Settings>;
  readonly #retryDelays: RetryDelays;
  readonly #targets: LeasedTargets<Settings>;
  readonly #recorder: Recorder<RecordedDelivery<Settings>>;
  readonly #stopping = new AbortController();
  /** Aborts requests in flight when stopping takes too long. */
  readonly #aborting = new AbortController();
  #endPause: () => void = () => {};
  #loop: Promise<void> | undefined;
  #isDatabaseDown = false;
  #polledAt = Number.NEGATIVE_INFINITY;
  #mayQueueMore = false;

  constructor(runtime: Runtime, channel: Channel<Settings>) {
    this.#runtime = runtime;
    this.#channel = channel;
    this.#retryDelays = retryDelaysOf(runtime.config);
    this.#targets = new LeasedTargets(runtime.database, channel.name, randomUUID());
    this.#recorder = new Recorder(
      (batch) => this.#write(batch),
      (error) => runtime.log.warn({ err: error }, "results of deliveries wait for the database"),
    );
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Requests in flight end or are given back, their results are written, and then the leases are released. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    const late = setTimeout(() => this.#aborting.abort(), stopMsMax);
    while (this.#targets.scheduler.inFlight > 0) await delay(20);
    clearTimeout(late);
    await this.#recorder.close();
    await this.#targets.release().catch(() => undefined);
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        const isBusy = await this.#runRound();
        if (this.#isDatabaseDown) this.#runtime.log.info({ channel: this.#channel.name }, "deliveries go on");
        this.#isDatabaseDown = false;
        await this.#pause(isBusy ? busyPauseMs : pollEveryMs);
      } catch (error) {
        // Waiting loses nothing. Logged once per outage.
        if (!this.#isDatabaseDown) this.#runtime.log.warn({ err: error }, "deliveries wait");
        this.#isDatabaseDown = true;
        await this.#pause(pollEveryMs * 2);
      }
    }
  }

  /** @returns whether there is more work right now */
  async #runRound(): Promise<boolean> {
    if (this.#mayQueueMore || performance.now() - this.#polledAt >= pollEveryMs) await this.#poll();
    await this.#targets.renewIfDue();
    await this.#refreshSettings();
    await this.#read();
    this.#startSends();
    await this.#targets.releaseIdle();
    return (
      this.#mayQueueMore || this.#targets.queues.some((queue) => needsDeliveries(queue) && queue.mayHaveMore)
    );
  }

  /** Not in every round: a look into an empty queue has to skip all index entries that were deleted a moment ago. */
  async #poll(): Promise<void> {
    this.#polledAt = performance.now();
    const { database } = this.#runtime;
    const found = this.#mayQueueMore ? undefined : await findWork(database, this.#channel.name);
    const isQueued = this.#mayQueueMore || found?.queued === true;
    this.#mayQueueMore =
      isQueued &&
      (await fanOut(database, this.#retryDelays, (tenantId, error) => {
        this.#runtime.log.error({ tenantId, err: error }, "a tenant's events wait");
      }));
    if (isQueued || found?.due === true) await this.#targets.leaseDue();
  }

  async #refreshSettings(): Promise<void> {
    const now = performance.now();
    const stale = this.#targets.queues.filter((queue) => now - queue.settingsAt >= settingsCachedMs);
    if (stale.length === 0) return;
    const settings = await this.#channel.settingsOf(stale);
    for (const queue of stale) {
      queue.settings = settings.get(queue.targetId);
      queue.settingsAt = now;
    }
    const gone = stale.filter((queue) => queue.settings === undefined);
    if (gone.length === 0) return;
    for (const queue of gone) queue.dropWaiting();
    await inBatches({ rowsMax: cancelMax, batchesMax: cancelRoundsMax }, () =>
      cancelDue(this.#runtime.database, gone, cancelMax),
    );
  }

  async #read(): Promise<void> {
    const open = this.#targets.queues.filter(needsDeliveries);
    if (open.length === 0 || this.#recorder.size > unwrittenMax) return;
    // An id leaves `busy` only after its result was committed. So a row that is read now and is not busy is really due.
    const busy = open.flatMap((queue) => [...queue.busy]);
    const found = new Map<number, Delivery[]>();
    for (const delivery of await readDue(this.#runtime.database, open, busy, readEachMax)) {
      const list = found.get(delivery.targetId);
      if (list === undefined) found.set(delivery.targetId, [delivery]);
      else list.push(delivery);
    }
    for (const queue of open) {
      const list = found.get(queue.targetId) ?? [];
      queue.mayHaveMore = list.length >= readEachMax;
      for (const delivery of list) queue.fill(delivery);
    }
  }

  #startSends(): void {
    if (this.#stopping.signal.aborted) return;
    this.#targets.scheduler.run(performance.now(), (queue, delivery, settings) => {
      void this.#send(queue, delivery, settings);
    });
  }

  async #send(queue: TargetQueue<Settings>, delivery: Delivery, settings: Settings): Promise<void> {
    const attempt = await this.#sendInTrace(delivery, settings);
    this.#runtime.metrics?.delivery(this.#channel.name, attempt.outcome, attempt.durationMs / 1000);
    queue.ended(attempt.outcome === "delivered" || attempt.outcome === "withheld");
    this.#targets.scheduler.ended(queue);
    if (attempt.outcome === "unsent") queue.busy.delete(delivery.id);
    else {
      const next = nextStateOf(attempt, delivery.tries, this.#retryDelays[this.#channel.name], Math.random());
      this.#recorder.add({ queue: queue, delivery, attempt, settings, next });
    }
    if (needsDeliveries(queue) && queue.mayHaveMore) this.#endPause();
    this.#startSends();
  }

  /** Sends within the trace in which the event was published, if that trace is recorded. Later work is not part of it. */
  async #sendInTrace(delivery: Delivery, settings: Settings): Promise<Attempt> {
    const facts = { "records.event": delivery.kind, "records.attempt": delivery.attempts + 1 };
    const name = `deliver ${this.#channel.name}`;
    const span = this.#runtime.tracing.tracer?.continue(delivery.trace, name, "client", facts);
    const trace = span === undefined ? undefined : { requestId: undefined, span };
    const attempt = await runInContext(trace, () =>
      this.#channel.send(delivery, settings, this.#aborting.signal),
    );
    if (attempt.statusCode !== null) span?.addFacts({ "http.response.status_code": attempt.statusCode });
    span?.addFacts({ "records.outcome": attempt.outcome });
    span?.end(attempt.outcome === "failed" || attempt.outcome === "gone" ? attempt.outcome : undefined);
    return attempt;
  }

  async #write(batch: readonly RecordedDelivery<Settings>[]): Promise<void> {
    await writeResults(this.#runtime.database, batch);
    await this.#channel.recorded?.(batch).catch((error: unknown) => {
      this.#runtime.log.warn({ err: error }, "what follows from deliveries was left out");
    });
    for (const { queue, delivery } of batch) queue.busy.delete(delivery.id);
  }

  async #pause(ms: number): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      this.#endPause = resolve;
    });
    const timer = new AbortController();
    const signal = AbortSignal.any([this.#stopping.signal, timer.signal]);
    await Promise.race([delay(ms, undefined, { signal }).catch(() => undefined), ended]);
    timer.abort();
  }
}

function needsDeliveries(queue: TargetQueue<unknown>): boolean {
  return queue.waiting.length < waitingMin && queue.settings !== undefined && queue.settings !== "later";
}
