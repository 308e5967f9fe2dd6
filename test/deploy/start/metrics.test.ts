// What METRICS_PORT serves: figures by route and action, and nothing of who or what was in the requests.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { freePort } from "../../support/nats.ts";
import { eventually, startService, type TestService } from "../../support/service.ts";

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
      // The demo data bring a checkpoint of the time when they were made.
      return text.includes("records_audit_ok 1") && Math.abs(Number(at) - Date.now() / 1000) < 120 && at;
    });
    expect(Math.abs(Number(signed) - Date.now() / 1000)).toBeLessThan(120);
  });
  it("names no path, token, search text, tenant or user", async () => {
    await service.call("GET", "/api/admin/users/canary-of-a-path?token=canary-of-a-token");
    const text = await read();
    expect(text).not.toMatch(/canary|tenant_id=|user_id=|demo\.example/);
  });
  it("counts sign-ins by outcome", async () => {
    const body = { email: "doctor@demo.example", subdomain: "demo", password: "not-the-password-1" };
    await service.call("POST", "/api/auth/login", { body });
    const text = await read();
    expect(text).toMatch(/^records_sign_ins_total\{outcome="wrong_password"\} 1$/m);
    expect(text).toMatch(/^records_sign_ins_total\{outcome="ok"\} [1-9]/m);
    expect(text).toMatch(/^records_sign_ins_total\{outcome="locked_out"\} 0$/m);
  });
  it("shows exactly the series that docs/operate.md lists, with their labels", async () => {
    const text = await read();
    const shown = [...text.matchAll(/^# HELP (records_\w+) (.+)\n# TYPE \w+ (\w+)$/gm)].map(
      ([, name, help, type]) => ({ name: name ?? "", type: type ?? "", help: help ?? "" }),
    );
    const docs = readFileSync(join(import.meta.dirname, "../../../docs/operate.md"), "utf8");
    const rows = [...docs.matchAll(/^\| `(records_\w+)` \| (\w+) \|([^|]*)\| (.+) \|$/gm)];
    const listed = rows.map(([, name = "", type = "", labels = "", help = ""]) => ({
      name,
      type,
      labels,
      help,
    }));
    const sorted = (all: { name: string; type: string; help: string }[]) =>
      all.map(({ name, type, help }) => `${name} ${type} ${help}`).sort();
    expect(sorted(listed)).toEqual(sorted(shown));
    for (const { name, labels } of listed) {
      const [, sample] = new RegExp(`^${name}(?:_count)?\\{(.*)\\} `, "m").exec(text) ?? [];
      if (sample === undefined) continue;
      const names = [...sample.matchAll(/(\w+)="/g)].map(([, label]) => `\`${label}\``);
      expect({ name, labels: labels.trim().split(", ").sort() }).toEqual({ name, labels: names.sort() });
    }
  });
  it("keeps Prometheus' rules of naming", async () => {
    for (const [, name = "", type] of (await read()).matchAll(/^# TYPE (records_\w+) (\w+)$/gm)) {
      expect(name).toMatch(/^records_[a-z][a-z0-9_]*$/);
      expect({ name, isTotal: name.endsWith("_total") }).toEqual({ name, isTotal: type === "counter" });
      expect(name).not.toMatch(
        /_(?:ms|milliseconds|minutes|hours|days|kb|mb|percent|count|sum|bucket)(?:_|$)/,
      );
    }
  });
  it("speaks OpenMetrics to who asks for it", async () => {
    const answer = await fetch(metrics, {
      headers: { accept: "application/openmetrics-text; version=1.0.0" },
    });
    expect(answer.headers.get("content-type")).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
    expect(await answer.text()).toMatch(/# EOF\n$/);
    expect((await fetch(metrics)).headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  });
  it("listens on loopback alone", async () => {
    const others = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    for (const { address } of others.filter(({ internal, family }) => !internal && family === "IPv4"))
      await expect(fetch(metrics.replace("127.0.0.1", address))).rejects.toThrow("fetch failed");
  });
  it("answers nothing else on that port", async () => {
    expect((await fetch(metrics.replace("/metrics", "/"))).status).toBe(404);
  });
});
