// Dashboard and alerts against a real Prometheus that scrapes the running service, in two processes: each series that a
// query names is there, and each query gives a result. The alerts fire when they should (promtool), and none does here.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { rows } from "../../../monitoring/panels.ts";
import { describeWithNats } from "../../support/describe-with-nats.ts";
import { describeWithPrometheus } from "../../support/describe-with-prometheus.ts";
import { type Monitored, startMonitored } from "../../support/monitored.ts";
import { promtool } from "../../support/prometheus.ts";
import { eventually } from "../../support/service.ts";

const root = join(import.meta.dirname, "../../..");
const rules = join(root, "monitoring/alerts.yaml");
const alerts: { alert: string; expr: string }[] = parse(readFileSync(rules, "utf8")).groups.flatMap(
  ({ rules: inGroup }: { rules: unknown[] }) => inGroup,
);
const queries = rows.flatMap(({ panels }) =>
  panels.flatMap(({ title, queries: ofPanel }) =>
    ofPanel.map(
      ({ expr, legend }) => [`${title}: ${legend}`, expr.replaceAll("$__rate_interval", "1m")] as const,
    ),
  ),
);
const seriesIn = (expr: string) =>
  [...expr.matchAll(/\b(?:records|nodejs|process)_[a-z0-9_]+\b/g)].map(([name]) => name);
/** What is right to be empty: only what is there at the moment is shown. */
const mayBeEmpty = new Set(["Open incidents by fault: {{fault}} ({{severity}})"]);

describeWithPrometheus("promtool", () => {
  it("finds the alert rules well formed", async () => {
    expect(await promtool("check", "rules", rules)).toContain(`SUCCESS: ${alerts.length} rules found`);
  });
  it("sees each alert fire, and stay quiet", async () => {
    const files = ["alerts.test.yaml", "alerts.slow.test.yaml"].map((name) => join(root, "monitoring", name));
    expect((await promtool("test", "rules", ...files)).match(/SUCCESS/g)).toHaveLength(files.length);
    const tested = files.flatMap((file) =>
      parse(readFileSync(file, "utf8")).tests.flatMap(({ alert_rule_test: each }: any) => each),
    );
    for (const { alert } of alerts) {
      const own = tested.filter(({ alertname }: { alertname: string }) => alertname === alert);
      const fired = own.map(({ exp_alerts: expected }: { exp_alerts: unknown[] }) => expected.length);
      expect({ alert, fired }).toEqual({ alert, fired: [1, 0] });
    }
  });
});

describeWithPrometheus("a Prometheus that scrapes the service", () => {
  describeWithNats("as two processes", () => {
    let monitored: Monitored;
    let names: Set<string>;
    const prometheus = () => monitored.prometheus;
    beforeAll(async () => {
      monitored = await startMonitored(rules);
      await monitored.happenings();
      for (let round = 0; round < 6; round++) await monitored.everyday(round);
      // The last figures to come: deliveries of the payments, and what is asked for every five seconds.
      const last = [
        "records_delivery_seconds_count",
        "records_backup_proof_timestamp_seconds",
        "records_audit_proof_timestamp_seconds",
        "records_faults_look_timestamp_seconds",
        "records_rotation_progress_ratio",
      ];
      await eventually(async () => {
        names = new Set(await prometheus().ask("label/__name__/values"));
        return last.every((name) => names.has(name));
      }, 120_000);
      // A rate needs two scrapes that saw the series.
      await eventually(
        async () =>
          (await prometheus().query("min(count_over_time(records_delivery_seconds_count[1m])) > 2")).length >
          0,
      );
    }, 300_000);
    afterAll(() => monitored?.stop(), 120_000);

    it.each(queries)("panel %s", async (title, expr) => {
      expect(seriesIn(expr).filter((name) => !names.has(name))).toEqual([]);
      // A figure that could not be read in its two seconds, on a busy machine, is there again at the next scrape.
      await eventually(async () => {
        const lines = await prometheus().query(expr);
        return mayBeEmpty.has(title) || lines.length > 0;
      });
    });
    it.each(alerts.map(({ alert, expr }) => [alert, expr] as const))("alert %s", async (_alert, expr) => {
      expect(seriesIn(expr).filter((name) => !names.has(name))).toEqual([]);
      await prometheus().query(expr);
    });
    it("takes the rules, evaluates each without an error, and none of them pages", async () => {
      const evaluated = await eventually(async () => {
        const { groups } = await prometheus().ask("rules");
        const found = groups.flatMap(({ rules: inGroup }: any) => inGroup);
        return found.length > 0 && found.every(({ health }: any) => health !== "unknown") && found;
      });
      expect(evaluated.map(({ name }: any) => name).sort()).toEqual(alerts.map(({ alert }) => alert).sort());
      expect(evaluated.filter(({ health }: any) => health !== "ok")).toEqual([]);
      const paging = evaluated.filter(
        ({ state, labels }: any) => state === "firing" && labels.severity === "page",
      );
      expect(paging.map(({ name }: any) => name)).toEqual([]);
    });
    it("is given OpenMetrics, and takes all of it", async () => {
      const { activeTargets } = await prometheus().ask("targets");
      expect(activeTargets.map(({ health, lastError }: any) => ({ health, lastError }))).toEqual([
        { health: "up", lastError: "" },
        { health: "up", lastError: "" },
      ]);
    });
    it("shows the bus as both sides see it", async () => {
      const [sum] = await prometheus().query(
        'sum(records_bus_bytes_total{instance="gateway",direction="out"})',
      );
      expect(sum?.points[0]?.value).toBeGreaterThan(1_000);
      const calls = await prometheus().query(
        'records_bus_call_seconds_count{action="users.me",outcome="ok"}',
      );
      expect(calls.map(({ labels }) => labels["instance"])).toEqual(["gateway"]);
      expect(await prometheus().query("records_bus_reconnects_total")).toHaveLength(2);
    });
    it("shows a bounded number of series, also when paths and methods are made up", async () => {
      const count = async () =>
        (await prometheus().query('count({job="records"})'))[0]?.points[0]?.value ?? 0;
      const before = await count();
      for (let at = 0; at < 50; at++)
        await monitored.gateway.call("GET", `/api/made-up-${at}/${"x".repeat(at)}`);
      for (const method of ["PROPFIND", "LOCK", "MKCOL", "REPORT"])
        await monitored.gateway.call(method, "/api/users/me");
      await eventually(
        async () =>
          (await prometheus().query('records_http_request_seconds_count{method="other"}')).length > 0,
      );
      const after = await count();
      expect(after - before).toBeLessThan(200);
      expect(after).toBeLessThan(8_000);
    });
  });
});
