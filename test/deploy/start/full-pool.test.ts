// A process whose database connections are all in use: whoever comes then is 503 with Retry-After after a second, and does not
// wait behind statements that take as long as they may; afterwards all is as before.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { eventually, startService, type TestService } from "../../support/service.ts";

/** What a statement may take: whoever holds a connection ends with it. */
const statementMs = 5_000;
/** Four of them listen for jobs, as this process runs everything. */
const connections = 8;
const forWork = 4;
const asked = 30;

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startService({ DATABASE_POOL_MAX: String(connections), DATABASE_POOL_WAIT_MS: "1000" });
  token = await service.signIn("admin");
});
afterAll(() => service.stop());

it("is 503 with Retry-After, long before those who hold the connections are done", async () => {
  const { owner } = service.database;
  await owner.query("begin; lock table departments in access exclusive mode");
  try {
    const list = async () => {
      const from = performance.now();
      const { status, body, headers } = await service.call("GET", "/api/admin/departments", { token });
      return { status, code: body.code, retry: headers.get("retry-after"), ms: performance.now() - from };
    };
    // Nobody asks for more before those hold all that there are.
    const first = Array.from({ length: forWork + 2 }, list);
    await eventually(async () => {
      const { rows } = await owner.query(
        "select count(*)::integer as waiting from pg_locks where relation = 'departments'::regclass and not granted",
      );
      return rows[0].waiting >= forWork - 1;
    });
    const answers = await Promise.all(Array.from({ length: asked }, list));
    for (const { status, retry } of answers) expect([status, Number(retry) > 0]).toEqual([503, true]);
    const soon = answers.filter(({ ms }) => ms < statementMs - 1_000);
    // But for those whose turn came when one of the first had timed out.
    expect(soon.length).toBeGreaterThanOrEqual(asked - 2 * forWork);
    for (const { status } of await Promise.all(first)) expect(status).toBe(503);
  } finally {
    await owner.query("rollback");
  }
  const again = await eventually(async () => {
    const answer = await service.call("GET", "/api/admin/departments", { token });
    return answer.status === 200 && answer;
  });
  expect(again.body.items.length).toBeGreaterThan(0);
  await service.signIn("doctor");
});
