// Self-healing beside a test that is about something else: every fix is confirmed, faults are looked for again and again, and
// nothing may be mended that the test did not break. `npm run test:healing -- <folder>` does so in every test that starts the whole
// service.
import pg from "pg";
import { catalogue, type FaultCode } from "../../mixins/healing/catalogue.ts";
import { hashOf } from "../../services/self-healing/fix-row.ts";

export interface HealingWatch {
  /** The test breaks these itself and looks at what comes of it: from now on they are not mended. */
  provokes(...codes: FaultCode[]): Promise<void>;
  /** How many rounds of looks have ended. */
  rounds(): number;
  /** What was mended or tried, and is not the test's own doing. */
  touched(): Promise<string[]>;
  /** @throws when anything healthy was touched */
  end(): Promise<void>;
}

const betweenMs = 500;
const roundMsMax = 60_000;

export async function watchHealing(databaseUrl: string): Promise<HealingWatch> {
  const owner = new pg.Client({ connectionString: databaseUrl });
  // The server may end before the watch does.
  owner.on("error", () => {});
  await owner.connect();
  await confirmAll(owner);
  const provoked = new Set<string>();
  const ending = new AbortController();
  let rounds = 0;
  const turning = (async () => {
    while (!ending.signal.aborted) {
      if (await round(owner, () => ending.signal.aborted)) rounds++;
      await new Promise((resolve) => setTimeout(resolve, betweenMs));
    }
  })().catch(() => undefined);
  const touched = async () => {
    const { rows } = await owner.query<{ code: string; text: string }>(
      `select code, code || ' at ' || target || ': ' || status || ' ' || evidence::text as text from incidents
       where (tries > 0 or status in ('healing', 'healed', 'failed')) and not code = any($1)`,
      [[...provoked]],
    );
    return rows.map(({ text }) => text);
  };
  return {
    async provokes(...codes) {
      for (const code of codes) provoked.add(code);
      await owner.query(
        "update fixes set status = 'proposed', confirmed_at = null where code = any($1) and deleted_at is null",
        [codes],
      );
    },
    rounds: () => rounds,
    touched,
    async end() {
      ending.abort();
      await turning;
      const found = await touched().catch((): string[] => []);
      await owner.end().catch(() => undefined);
      if (found.length > 0) throw new Error(`healed what was healthy: ${found.join("; ")}`);
    },
  };
}

/** Every fix that has a remedy, as a superadmin would. */
export async function confirmAll(owner: pg.Client): Promise<void> {
  for (const known of catalogue)
    await owner.query(
      `insert into fixes (code, title, problem, remedy, risk, seeded_hash, status, confirmed_at)
       values ($1, $2, $3, $4, $5, $6, $7, case when $7 = 'confirmed' then now() end)
       on conflict (code) where deleted_at is null do nothing`,
      [
        known.code,
        known.title,
        known.problem,
        known.remedy,
        known.risk,
        hashOf(known),
        known.remedy === null ? "proposed" : "confirmed",
      ],
    );
}

/** Everything is due, and looked for by the service's own job. @returns whether it was */
async function round(owner: pg.Client, isOver: () => boolean): Promise<boolean> {
  await owner.query("update fault_looks set looked_at = looked_at - interval '1 day'");
  const { rows } = await owner.query<{ now: string }>("select now()::text as now");
  await owner.query(
    "select graphile_worker.add_job('self-healing.look', job_key := 'watch', queue_name := 'self-healing.look')",
  );
  const deadline = performance.now() + roundMsMax;
  while (!isOver() && performance.now() < deadline) {
    const { rows: looked } = await owner.query<{ looks: number }>(
      "select count(*)::integer as looks from fault_looks where looked_at > $1::timestamptz",
      [rows[0]?.now],
    );
    if ((looked[0]?.looks ?? 0) >= catalogue.length) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}
