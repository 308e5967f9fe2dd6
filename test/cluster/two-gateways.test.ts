// Two gateways over one bus: what one has acknowledged holds at the other, and long answers arrive whole.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Cluster, type Gateway, signInAt, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { demoPassword } from "../support/service.ts";

let cluster: Cluster;
let first: Gateway;
let second: Gateway;

describeWithNats("two gateways", () => {
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.startServices();
    [first, second] = await Promise.all([cluster.startGateway(), cluster.startGateway()]);
  });
  afterAll(() => cluster?.stop(), 30_000);

  it("a block acknowledged at one is refused at the other from the next request on: 0 of 1,000 pass", async () => {
    const token = await signInAt(first, "admin");
    const { body } = await first.call("GET", "/api/admin/users?role=nurse", { token });
    const path = `/api/admin/users/${body.items[0].id}`;
    const login = { email: "nurse@demo.example", password: demoPassword, subdomain: "demo" };
    let passed = 0;
    for (let round = 0; round < 20; round++) {
      const { body: signedIn } = await second.call("POST", "/api/auth/login", { body: login });
      const theirs = { token: signedIn.access_token };
      expect((await second.call("GET", "/api/users/me", theirs)).status).toBe(200);
      expect((await first.call("POST", `${path}/block`, { token })).status).toBe(200);
      const statuses = await Promise.all(
        Array.from({ length: 50 }, async () => (await second.call("GET", "/api/users/me", theirs)).status),
      );
      passed += statuses.filter((status) => status !== 401).length;
      expect((await first.call("POST", `${path}/unblock`, { token })).status).toBe(200);
    }
    expect(passed).toBe(0);
  });

  it("an answer of several megabytes arrives whole, one beyond 16 MB is a clear 503 at once, and the bus goes on", async () => {
    const token = await signInAt(first, "superadmin");
    const insert = (count: number, from: number) =>
      cluster.database.owner.query(
        `insert into tenants (name, subdomain, settings)
          select 'T ' || n, 't' || n, jsonb_build_object('notes', repeat(md5(n::text), 2000))
          from generate_series($1::int, $1::int + $2::int - 1) n`,
        [from, count],
      );
    await insert(60, 1_000);
    const { status, body } = await first.call("GET", "/api/admin/tenants", { token });
    expect({ status, length: body.length }).toEqual({ status: 200, length: 62 });
    expect(body.at(-1).settings.notes).toHaveLength(64_000);
    await insert(250, 2_000);
    const begun = performance.now();
    const refused = await first.call("GET", "/api/admin/tenants", { token });
    expect({ status: refused.status, code: refused.body.code }).toEqual({
      status: 503,
      code: "answer_too_large",
    });
    expect(performance.now() - begun).toBeLessThan(5_000);
    const many = await Promise.all(Array.from({ length: 20 }, () => second.call("GET", "/api/auth/tenants")));
    expect(many.map((answer) => answer.status)).toEqual(many.map(() => 200));
  });
});
