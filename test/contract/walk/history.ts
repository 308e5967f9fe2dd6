// The record of a run in which rights are withdrawn while requests go on, and the judge of it.

export interface Attempt {
  /** Whose token it was sent with. */
  token: string;
  begunAt: number;
  status: number;
}

export interface Withdrawal {
  /** All tokens it concerns. */
  tokens: readonly string[];
  /** When whoever withdrew had the answer in hands; every clock here is this process's. */
  acknowledgedAt: number;
}

/** Attempts that began after their token's withdrawal was acknowledged and were not refused as unknown (401). */
export function latePasses(attempts: readonly Attempt[], withdrawals: readonly Withdrawal[]): Attempt[] {
  const endOf = new Map<string, number>();
  for (const { tokens, acknowledgedAt } of withdrawals) {
    for (const token of tokens) endOf.set(token, Math.min(endOf.get(token) ?? Infinity, acknowledgedAt));
  }
  return attempts.filter(
    ({ token, begunAt, status }) => begunAt > (endOf.get(token) ?? Infinity) && status !== 401,
  );
}
