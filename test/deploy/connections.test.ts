// Connections to PostgreSQL: what all processes of production open at most, with one more of each kind as a rollout has them,
// is less than a server gives out by default; docs/deploy.md has the sums. And the example of such a server.
import { describe, expect, it } from "@jest/globals";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readConfig } from "../../host/settings/config.ts";
import { oldestVersion } from "../../host/database/server-fit.ts";
import { jobsMax } from "../../services/backups/job.rules.ts";
import { readYaml, root, type Tree } from "./deployment-files.ts";

/** https://www.postgresql.org/docs/18/runtime-config-connection.html: max_connections, superuser_reserved_connections */
const givenOut = 100 - 3;
const probes = 1;
/** Its own, the migrator's pool of one at a time, graphile-worker's, and one to spare. */
const ofMigration = 4;

interface Kind {
  name: string;
  pool: number;
  each: number;
  replicas: number;
  sum: number;
}

function kindsIn(overlay: string): Kind[] {
  const [{ replicas }] = readYaml(overlay);
  return ["accounts", "support", "outbound", "crypto", "backups"].map((name) => {
    const [{ spec }] = readYaml(`k8s/base/${name}.yaml`).filter(({ kind }) => kind === "Deployment");
    const { env } = spec.template.spec.containers[0];
    const given = Object.fromEntries(
      env.flatMap((each: Tree) => (each.value === undefined ? [] : [[each.name, each.value]])),
    );
    const pool = readConfig({
      SERVICES: given.SERVICES,
      DATABASE_POOL_MAX: given.DATABASE_POOL_MAX,
    }).databasePoolMax;
    const each = pool + probes + (name === "backups" ? jobsMax : 0);
    const { count } = replicas.find((wanted: Tree) => wanted.name === name);
    const surge = spec.strategy.rollingUpdate.maxSurge;
    expect(surge).toBe(1);
    return { name, pool, each, replicas: count, sum: each * (count + surge) };
  });
}

describe("connections of production", () => {
  const found = kindsIn("k8s/overlays/production/kustomization.yaml");
  const together = found.reduce((sum, kind) => sum + kind.sum, ofMigration);
  it("are fewer than PostgreSQL gives out, with one more process of each kind and the migration", () => {
    expect(together).toBeLessThan(givenOut);
  });
  it("leave one for work where one listens for jobs", () => {
    for (const { pool } of found) expect(pool).toBeGreaterThanOrEqual(3);
  });
  it("are summed up in docs/deploy.md", () => {
    const docs = readFileSync(join(root, "docs/deploy.md"), "utf8");
    for (const { name, pool, replicas, sum } of found)
      expect(docs).toContain(`| \`${name}\` | ${pool} | ${replicas} | ${sum} |`);
    expect(docs).toContain(`| \`migrate\` | | | ${ofMigration} |`);
    expect(docs).toContain(`| together | | | ${together} |`);
  });
  it("of a process that runs everything, or several kinds, are ten", () => {
    expect(readConfig({}).databasePoolMax).toBe(10);
    expect(readConfig({ SERVICES: "auth,crypto" }).databasePoolMax).toBe(10);
    expect(readConfig({ SERVICES: "crypto", DATABASE_POOL_MAX: "7" }).databasePoolMax).toBe(7);
  });
});

describe("the example for CloudNativePG", () => {
  const [cluster, policy] = readYaml("docs/cloudnative-pg.yaml");
  it("makes a database that the service takes", () => {
    expect(cluster).toMatchObject({ apiVersion: "postgresql.cnpg.io/v1", kind: "Cluster" });
    const { encoding, localeProvider, builtinLocale, owner } = cluster.spec.bootstrap.initdb;
    // As in test/deploy/start/unfit-database.test.ts, where a real server has it.
    expect([encoding, localeProvider, builtinLocale, owner]).toEqual([
      "UTF8",
      "builtin",
      "C.UTF-8",
      "records_owner",
    ]);
    expect(Number(/:(\d+)$/.exec(cluster.spec.imageName)?.[1])).toBeGreaterThanOrEqual(oldestVersion);
  });
  it("gives out the connections that are counted here, and logs no values", () => {
    const { parameters } = cluster.spec.postgresql;
    expect(Number(parameters.max_connections) - 3).toBe(givenOut);
    const quiet = readYaml("docker-compose.yml")[0].services.postgres.command.filter(
      (word: string) => word !== "-c",
    );
    for (const setting of quiet) {
      const [name = "", value] = setting.split("=");
      expect({ [name]: parameters[name] }).toEqual({ [name]: value });
    }
  });
  it("lets those in who use the database", () => {
    expect(policy.spec.podSelector.matchLabels).toEqual({ "cnpg.io/cluster": cluster.metadata.name });
    expect(policy.spec.ingress[0].from[0]).toEqual({
      podSelector: { matchLabels: { "uses-database": "true" } },
    });
  });
});
