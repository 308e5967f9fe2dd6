// Tenants that a walk does not get on with. One tenant's trouble must not hold up the others, and what does not change by
// walking again must not be walked for ever. Kept for as long as the rotation takes; at most one entry for each tenant.
const restMs = 5_000;
/** At one failure every five seconds: for five minutes and more. */
const failuresMax = 60;
const roundsMax = 3;

export class RotationTroubles {
  readonly #restUntil = new Map<number, number>();
  readonly #failures = new Map<number, number>();
  readonly #rounds = new Map<number, number>();

  /** Tenants that are to be left alone for now. */
  resting(): number[] {
    const now = performance.now();
    return [...this.#restUntil].flatMap(([tenantId, until]) => (until > now ? [tenantId] : []));
  }

  /** Something of the tenant failed: it is tried again after a while. @returns whether to give up */
  failed(tenantId: number): boolean {
    this.#restUntil.set(tenantId, performance.now() + restMs);
    const failures = (this.#failures.get(tenantId) ?? 0) + 1;
    this.#failures.set(tenantId, failures);
    return failures >= failuresMax;
  }

  wentWell(tenantId: number): void {
    this.#failures.delete(tenantId);
  }

  /** The second pass is over, and rows name an old key all the same. @returns whether to give up */
  fruitless(tenantId: number): boolean {
    const rounds = (this.#rounds.get(tenantId) ?? 0) + 1;
    this.#rounds.set(tenantId, rounds);
    return rounds >= roundsMax;
  }

  clear(): void {
    this.#restUntil.clear();
    this.#failures.clear();
    this.#rounds.clear();
  }
}
