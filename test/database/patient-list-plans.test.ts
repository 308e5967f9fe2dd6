// How PostgreSQL finds a tenant's patients beneath the policies: by indexes that hold that tenant's rows only, whatever
// the other tenants have, a search included.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { listStatement } from "../../services/patients/list-patients.ts";
import { patientSorts } from "../../services/patients/patients.contract.ts";
import { TenantKeys } from "../../services/shared/sealing/tenant-keys.ts";
import { openScene, type Scene } from "./tenancy/scene.ts";

const crowd = 20_000;
const few = 100;
let scene: Scene;
let small: number;
let large: number;
let keys: TenantKeys;

beforeAll(async () => {
  scene = await openScene();
  const key = () => randomBytes(32).toString("base64");
  large = await fill("large", crowd);
  small = await fill("late", few);
  // No vacuum: so it is after many rows came at once, and an index alone answers nothing yet.
  await scene.owner.query("analyze");
  keys = new TenantKeys(
    small,
    [
      { id: 1, purpose: "field", state: "primary", key: key() },
      { id: 2, purpose: "index", state: "primary", key: key() },
    ],
    () => ({ seals: 0 }),
  );
});
afterAll(() => scene.stop());

async function fill(subdomain: string, count: number): Promise<number> {
  const { rows } = await scene.owner.query(
    "insert into tenants (name, subdomain) values ('A Clinic', $1) returning id",
    [subdomain],
  );
  const tenantId: number = rows[0].id;
  await scene.owner.query(
    `with wards as (insert into departments (tenant_id, name) select $1, 'Ward ' || i from generate_series(1, 10) i returning id),
     numbered as (select id, row_number() over () as place from wards)
     insert into patients (tenant_id, department_id, record_number, identity, full_name_index, phone_index, created_at)
     select $1, w.id, 'R-' || i, '-', sha256(('n' || i)::bytea), sha256(('p' || i)::bytea), now() - i * interval '1 s'
     from generate_series(1, $2::integer) i join numbered w on w.place = 1 + i % 10`,
    [tenantId, count],
  );
  return tenantId;
}

interface Plan {
  "Index Name"?: string;
  "Node Type": string;
  "Relation Name"?: string;
  "Rows Removed by Filter"?: number;
  "Actual Rows"?: number;
  "Actual Loops"?: number;
  Plans?: Plan[];
}

/** Every node of the plan as the service would run it: unnamed, as its login, in the tenant's scope. */
async function nodesOf(tenantId: number, asked: object, departmentId: number | null = null): Promise<Plan[]> {
  const { owner } = scene;
  const sight = { tenantId, userId: 1, departmentId, canSeeAllPatients: departmentId === null };
  const params = { page: 1, limit: 50, sort_by: "id", sort_order: "asc", ...asked } as const;
  const { name, text, values } = listStatement(sight, params, 0, "search" in asked ? keys : undefined);
  expect(name).toBeUndefined();
  const literals = values.map((value) => {
    if (value instanceof Buffer) return `'\\x${value.toString("hex")}'`;
    return typeof value === "string" ? `'${value}'` : String(value);
  });
  try {
    await owner.query("begin; set local plan_cache_mode = force_custom_plan");
    await owner.query("set local role records_login");
    await owner.query("select set_config('app.tenant_id', $1, true)", [String(tenantId)]);
    await owner.query(`prepare listed as ${text}`);
    const { rows } = await owner.query(
      `explain (analyze, summary, format json) execute listed(${literals.join(", ")})`,
    );
    const flat = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flat)];
    return flat(rows[0]["QUERY PLAN"][0].Plan);
  } finally {
    await owner.query("rollback; deallocate all");
  }
}

/** Rows of the table that were looked at, whether they were wanted or not. */
function touched(nodes: readonly Plan[]): number {
  return nodes
    .filter((node) => node["Relation Name"] === "patients")
    .reduce(
      (sum, node) =>
        sum +
        ((node["Actual Rows"] ?? 0) + (node["Rows Removed by Filter"] ?? 0)) * (node["Actual Loops"] ?? 1),
      0,
    );
}

describe("a page of a small tenant behind a large one", () => {
  it.each(
    patientSorts.flatMap((sort_by) => [
      { sort_by, sort_order: "asc" },
      { sort_by, sort_order: "desc" },
    ]),
  )("%j looks at no other tenant's row", async (asked) => {
    expect(touched(await nodesOf(small, asked))).toBeLessThanOrEqual(2 * few);
  });
});

describe("in a large tenant", () => {
  it.each([
    ["a record number", { search: "r-19999" }],
    ["no record number, a name that is not there", { search: "Nobody At All" }],
    ["a phone number that is not there", { search: "+49 30 123456" }],
  ])("a search for %s looks at a handful of rows", async (_what, asked) => {
    const nodes = await nodesOf(large, asked);
    expect(nodes.map((node) => node["Node Type"])).not.toContain("Seq Scan");
    expect(touched(nodes)).toBeLessThan(50);
  });

  it("a department's page looks at that department's rows", async () => {
    const { rows } = await scene.owner.query("select id from departments where tenant_id = $1 limit 1", [
      large,
    ]);
    const nodes = await nodesOf(large, {}, rows[0].id);
    expect(nodes.map((node) => node["Index Name"])).toContain("patients_department");
    expect(touched(nodes)).toBeLessThanOrEqual(crowd / 10 + 50);
  });
});
