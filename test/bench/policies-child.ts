// A child process: the service's hot reads, some at a time, through three doors in turn: under the policies, through the
// same path as the owner who bypasses them, and as plain pg queries of the owner without any scope.
import pg from "pg";
import { connect, type Connected } from "../../host/database/connect.ts";
import type { Statement } from "../../services/shared/database/scope.ts";
import { listStatement } from "../../services/users/list-users.ts";
import { profileStatement } from "../../services/users/read-profile.ts";
import type { LoadResult } from "./load.ts";
import { inTurn, type Sample, type Side } from "./measure.ts";
import { percentile } from "./statistics.ts";
import { readJob } from "./task.ts";

export interface PoliciesJob {
  ownerUrl: string;
  appUrl: string;
  tenantId: number;
  userIds: number[];
  postgresId: number;
  rounds: number;
  seconds: number;
}

type Door = "policies" | "bypassing" | "unscoped";
export type PoliciesResult = Record<string, Record<Door, Sample[]>>;

const connections = 8;
const job = await readJob<PoliciesJob>();
const scope = { tenantId: job.tenantId };

function open(url: string): Promise<Connected> {
  return connect({ url, poolMax: connections, entities: [], statementTimeoutMs: 5_000 });
}

async function load(read: (index: number) => Promise<unknown[]>, seconds: number): Promise<LoadResult> {
  const latenciesMs: number[] = [];
  const startedAt = performance.now();
  const until = startedAt + seconds * 1000;
  const loop = async () => {
    for (let now = performance.now(); now < until; ) {
      const rows = await read(latenciesMs.length);
      if (rows.length === 0) throw new Error("a read found nothing");
      const after = performance.now();
      latenciesMs.push(after - now);
      now = after;
    }
  };
  await Promise.all(Array.from({ length: connections }, loop));
  return {
    requests: latenciesMs.length,
    seconds: (performance.now() - startedAt) / 1000,
    p50Ms: percentile(latenciesMs, 50),
    p99Ms: percentile(latenciesMs, 99),
    failed: 0,
  };
}

const listParams = { page: 1, limit: 50, sort_by: "id", sort_order: "asc" } as const;
const statements: Record<string, (index: number) => Statement> = {
  "one user": (index) => profileStatement(job.tenantId, job.userIds[index % job.userIds.length] ?? 0),
  "page 1": () => listStatement(scope, listParams, 0),
};

const held = await open(job.appUrl);
const bypassing = await open(job.ownerUrl);
const plain = new pg.Pool({ connectionString: job.ownerUrl, max: connections });
const result: PoliciesResult = {};
for (const [what, statement] of Object.entries(statements)) {
  const side = (name: Door, read: (index: number) => Promise<unknown[]>): Side => ({
    name,
    processId: process.pid,
    load: (seconds) => load(read, seconds),
  });
  const [policies = [], bypassed = [], unscoped = []] = await inTurn(
    [
      side("policies", (index) => held.database.read(scope, statement(index))),
      side("bypassing", (index) => bypassing.database.read(scope, statement(index))),
      side("unscoped", async (index) => {
        const { name, text, values } = statement(index);
        return (await plain.query({ ...(name === undefined ? {} : { name }), text, values: [...values] }))
          .rows;
      }),
    ],
    { postgresId: job.postgresId, rounds: job.rounds, seconds: job.seconds },
  );
  result[what] = { policies, bypassing: bypassed, unscoped };
}
await Promise.all([held.close(), bypassing.close(), plain.end()]);
process.stdout.write(JSON.stringify(result));
