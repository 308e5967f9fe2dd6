// What METRICS_PORT serves: figures by route and action, and nothing of who or what was in the requests.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { freePort } from "../support/nats.ts";
import { eventually, startService, type TestService } from "../support/service.ts";

let service: TestService;
let metrics: string;
beforeAll(async () => {
  const port = await freePort();
  service = await startService({ METRICS_PORT: String(port) });
  metrics = `http://127.0.0.1:${port}/metrics`;
});
afterAll(() => service?.stop());

const read = async () => (await fetch(metrics)).text();

describe("/metrics", () => {
  it("counts requests by route and status, and actions by outcome", async () => {
    const token = await service.signIn("admin");
    await service.call("GET", "/api/users/me", { token });
    await service.call("GET", "/api/admin/users?search=canary-of-metrics", { token });
    await service.call("POST", "/api/admin/users/999999/block", { token });
    const text = await read();
    expect(text).toContain(
      'records_http_request_seconds_count{method="GET",route="/api/users/me",status="200"} 1',
    );
    expect(text).toMatch(/records_action_seconds_count\{action="users\.block",outcome="not_found"\} 1/);
    expect(text).toMatch(/^records_password_queue_depth 0$/m);
    expect(text).toMatch(/records_database_connections\{state="idle"\} [1-9]/);
    expect(text).toMatch(/^nodejs_eventloop_lag_seconds/m);
  });
  it("shows when the audit log was last signed, and that it was found whole", async () => {
    // The first run follows the start by some seconds.
    const signed = await eventually(async () => {
      const text = await read();
      const [, at] = /^records_audit_checkpoint_timestamp_seconds (\S+)$/m.exec(text) ?? [];
      return text.includes("records_audit_ok 1") && at;
    });
    expect(Math.abs(Number(signed) - Date.now() / 1000)).toBeLessThan(120);
  });
  it("names no path, token, search text, tenant or user", async () => {
    await service.call("GET", "/api/admin/users/canary-of-a-path?token=canary-of-a-token");
    const text = await read();
    expect(text).not.toMatch(/canary|tenant_id=|user_id=|demo\.example/);
  });
  it("answers nothing else on that port", async () => {
    expect((await fetch(metrics.replace("/metrics", "/"))).status).toBe(404);
  });
});
