// Self-healing for tests: what is broken is broken in the database as its owner, the rest goes over HTTP.
import { expect } from "@jest/globals";
import { catalogue, type FaultCode } from "../../../mixins/healing/catalogue.ts";
import { startService, eventually, type TestService } from "../../support/service.ts";

interface Fix {
  id: number;
  code: string;
  status: string;
  remedy: string | null;
  open_incidents: number;
  [more: string]: unknown;
}

export interface Incident {
  id: number;
  fix_id: number;
  code: string;
  status: string;
  target: string;
  tenant_id: number | null;
  tries: number;
  evidence: Record<string, unknown>;
  would_do: string | null;
  repair_s: number | null;
  ended_at: string | null;
  next_try_at: string | null;
  history: { step: string; at: string; facts: Record<string, unknown> }[];
}

export interface Scene {
  service: TestService;
  token: string;
  sql: <Row = Record<string, unknown>>(text: string, values?: unknown[]) => Promise<Row[]>;
  get(path: string): Promise<Awaited<ReturnType<TestService["call"]>>>;
  /** Looks for all faults at once. */
  look(): Promise<{
    looked: number;
    found: number;
    opened: number;
    silent: string[];
    unanswered: { code: string; service: string }[];
    left: string[];
  }>;
  fixes(): Promise<Fix[]>;
  fixOf(code: string): Promise<Fix>;
  confirm(code: string): Promise<Fix>;
  /** Of a fault, newest first. */
  incidents(code: string): Promise<Incident[]>;
  /** Looks until the newest incident of the fault at the target is as it should be. */
  met(code: string, target: string | RegExp, status: string): Promise<Incident>;
  stop(): Promise<void>;
}

const path = "/api/admin/self-healing";

export async function openScene(settings: Record<string, string> = {}): Promise<Scene> {
  const service = await startService(settings);
  const token = await service.signIn("superadmin");
  const call = async (method: string, way: string, status: number) => {
    const answer = await service.call(method, `${path}${way}`, { token });
    if (answer.status !== status)
      throw new Error(`${method} ${way}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const scene: Scene = {
    service,
    token,
    sql: async (text, values) => (await service.database.owner.query(text, values)).rows,
    get: (way) => service.call("GET", `${path}${way}`, { token }),
    look: () => call("POST", "/look", 200),
    fixes: async () => (await call("GET", "/fixes", 200)).items,
    async fixOf(code) {
      const fix = (await scene.fixes()).find((each) => each.code === code);
      if (fix === undefined) throw new Error(`no fix ${code}`);
      return fix;
    },
    confirm: async (code) => call("POST", `/confirm/${(await scene.fixOf(code)).id}`, 200),
    incidents: async (code) => (await call("GET", `/incidents?limit=200&code=${code}`, 200)).items,
    met: (code, target, status) =>
      eventually(async () => {
        const is = (each: Incident) =>
          typeof target === "string" ? each.target === target : target.test(each.target);
        const before = (await scene.incidents(code)).find(is);
        if (before?.status === status) return before;
        await scene.look();
        return undefined;
      }, 60_000),
    stop: () => service.stop(),
  };
  return scene;
}

/** Counters of a tenant's users that are wrong by `by`. */
export async function miscount({ sql }: Scene, tenantId: number, by = 3): Promise<void> {
  await sql(
    `update user_counts set users = users + $2 where (tenant_id, role, is_active) in
       (select tenant_id, role, is_active from user_counts where tenant_id = $1 limit 1)`,
    [tenantId, by],
  );
}

export interface Provoking {
  provoked: Set<string>;
  /** Met, and for one with a remedy: healed, verified, and the time that it took is known. */
  seen: (code: FaultCode, target: string | RegExp) => Promise<Incident>;
  /** From detected to verified, by fix, as lines: BENCHMARKS.md has them. */
  repairTimes: () => string;
}

/** Every fix with a remedy is confirmed, so that what happens is what happens by itself. */
export async function provoking(scene: Scene): Promise<Provoking> {
  await scene.service.call("POST", `${path}/seed-fixes`, { token: scene.token });
  for (const { code, remedy } of await scene.fixes()) if (remedy !== null) await scene.confirm(code);
  const provoked = new Set<string>();
  const times = new Map<string, number>();
  async function seen(code: FaultCode, target: string | RegExp): Promise<Incident> {
    provoked.add(code);
    const known = catalogue.find((each) => each.code === code);
    const incident = await scene.met(code, target, known?.remedy === null ? "open" : "healed");
    expect(Object.keys(incident.evidence).length).toBeGreaterThan(0);
    if (known?.remedy === null) {
      expect(incident).toMatchObject({ tries: 0, would_do: null, repair_s: null });
      return incident;
    }
    expect(incident.would_do).toMatch(/^Would .+\.$/);
    expect(incident.repair_s).toBeGreaterThan(0);
    times.set(code, Math.max(times.get(code) ?? 0, incident.repair_s ?? 0));
    expect(incident.history.map(({ step }) => step)).toEqual(["detected", "trying", "healed"]);
    return incident;
  }
  const repairTimes = () => [...times].map(([code, seconds]) => `${code} ${seconds.toFixed(2)} s`).join("\n");
  return { provoked, seen, repairTimes };
}
