// Tenants whose resealing fails. One tenant's failure must not delay the others, and a failure that repeats
// must not be retried for ever. Kept in memory while the rotation runs; at most one entry per tenant.
const retryDelayMs = 5_000;
/** At one failure every five seconds: at least five minutes. */
const failuresMax = 60;
const extraPassesMax = 3;

/** Back-off and limits of retries, per tenant. */
export class TenantBackoff {
  readonly #restUntil = new Map<number, number>();
  readonly #failures = new Map<number, number>();
  readonly #rounds = new Map<number, number>();

  /** Tenants that are not retried yet. */
  pausedTenants(): number[] {
    const now = performance.now();
    return [...this.#restUntil].flatMap(([tenantId, until]) => (until > now ? [tenantId] : []));
  }

  /** Records a failure; the tenant is retried after five seconds. @returns whether to give up */
  failed(tenantId: number): boolean {
    this.#restUntil.set(tenantId, performance.now() + retryDelayMs);
    const failures = (this.#failures.get(tenantId) ?? 0) + 1;
    this.#failures.set(tenantId, failures);
    return failures >= failuresMax;
  }

  /** Resets the tenant's failures. */
  succeeded(tenantId: number): void {
    this.#failures.delete(tenantId);
  }

  /** Records a second pass after which rows still use an old key. @returns whether to give up */
  extraPassNeeded(tenantId: number): boolean {
    const rounds = (this.#rounds.get(tenantId) ?? 0) + 1;
    this.#rounds.set(tenantId, rounds);
    return rounds >= extraPassesMax;
  }

  /** Forgets everything, because the rotation has ended. */
  clear(): void {
    this.#restUntil.clear();
    this.#failures.clear();
    this.#rounds.clear();
  }
}
