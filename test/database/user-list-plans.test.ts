// How PostgreSQL reads a tenant's page of users: by an index that holds that tenant's rows only, whatever the other
// tenants have, and with a plan that is made once.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { platform, type Scope } from "../../services/shared/database/scope.ts";
import { listStatement } from "../../services/users/list-users.ts";
import { userSorts } from "../../services/users/users.contract.ts";
import { addUsers, createTenants, rareNameUsers, type Tenant } from "../bench/fill.ts";
import { rareName } from "../bench/names.ts";
import { startService, type TestService } from "../support/service.ts";

const crowd = 6_000;
const few = 100;
let service: TestService;
let large: Tenant;
let small: Tenant;

beforeAll(async () => {
  service = await startService();
  const { owner } = service.database;
  const [early, late] = await createTenants(owner, ["large", "late"]);
  if (early === undefined || late === undefined) throw new Error("the tenants were not made");
  await addUsers(owner, [early], crowd);
  await addUsers(owner, [late], few);
  large = early;
  small = late;
});
afterAll(() => service.stop());

interface Plan {
  "Index Name"?: string;
  "Rows Removed by Filter"?: number;
  "Relation Name"?: string;
  /** Per loop. */
  "Actual Rows"?: number;
  "Actual Loops"?: number;
  Plans?: Plan[];
}

/** Every node of the plan that is made without knowing the values, run for this scope. */
async function nodesOf(scope: Scope, filters: object): Promise<Plan[]> {
  const { owner } = service.database;
  const params = { page: 1, limit: 50, sort_by: "id", sort_order: "asc", ...filters } as const;
  const { text, values } = listStatement(scope, params, 0);
  const literals = values.map((value) => (typeof value === "string" ? `'${value}'` : String(value)));
  try {
    await owner.query("begin; set local plan_cache_mode = force_generic_plan");
    await owner.query(`set local role ${scope === "platform" ? "records_login_platform" : "records_login"}`);
    if (scope !== "platform")
      await owner.query("select set_config('app.tenant_id', $1, true)", [String(scope.tenantId)]);
    await owner.query(`prepare listed as ${text}`);
    const { rows } = await owner.query(
      `explain (analyze, format json) execute listed(${literals.join(", ")})`,
    );
    const flat = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flat)];
    return flat(rows[0]["QUERY PLAN"][0].Plan);
  } finally {
    await owner.query("rollback; deallocate all");
  }
}

describe("a page of a small tenant behind a large one", () => {
  const filters = [{}, { role: "nurse" }, { role: "admin", is_active: true }, { is_active: false }];
  it.each(
    userSorts.flatMap((sort_by) => filters.map((filter) => ({ ...filter, sort_by, sort_order: "desc" }))),
  )("%j passes over no other tenant's row", async (asked) => {
    const nodes = await nodesOf({ tenantId: small.id }, asked);
    const passedOver = nodes.reduce((sum, node) => sum + (node["Rows Removed by Filter"] ?? 0), 0);
    expect(nodes.map((node) => node["Index Name"])).not.toContain("users_pkey");
    // The tenant's own rows that a filter leaves out, and the counters of all tenants' roles.
    expect(passedOver).toBeLessThan(few + 100);
  });
});

/** What the search function runs for a word, as its owner. */
async function searchPlan(tenantId: number, word: string): Promise<string> {
  const { owner } = service.database;
  await owner.query("load 'auto_explain'");
  const noticed: string[] = [];
  const listen = ({ message = "" }) => void noticed.push(message);
  owner.on("notice", listen);
  try {
    await owner.query("begin");
    await owner.query("select set_config('app.tenant_id', $1, true)", [String(tenantId)]);
    await owner.query(
      `set local auto_explain.log_min_duration = 0; set local auto_explain.log_nested_statements = on;
       set local client_min_messages = log`,
    );
    await owner.query(
      "select * from search_user_ids(lower($1), '%' || lower($1) || '%', null, null, 'id', false, 50, 0)",
      [word],
    );
  } finally {
    owner.off("notice", listen);
    await owner.query("rollback");
  }
  return noticed.join("\n");
}

describe("a selective search", () => {
  it("goes by pieces that only that tenant has, and by trigrams for words too short for them", async () => {
    expect(await searchPlan(large.id, rareName)).toContain("Bitmap Index Scan on users_search_pieces");
    expect(await searchPlan(large.id, rareName.slice(0, 4))).not.toContain("users_search_pieces");
  });

  it("reads the rows it has found, not the tenant", async () => {
    const nodes = await nodesOf({ tenantId: large.id }, { search: rareName });
    const read = nodes.filter((node) => node["Relation Name"] === "users");
    expect(read.map((node) => [node["Actual Rows"], node["Actual Loops"]])).toEqual([[1, rareNameUsers]]);
  });
});

describe("a page of all tenants", () => {
  it("follows the primary key", async () => {
    const nodes = await nodesOf(platform, {});
    expect(nodes.map((node) => node["Index Name"])).toContain("users_pkey");
  });
});
