// One trace crosses processes: gateway and services apart, over NATS, as a real collector receives it. And the level of
// all logs is changed from one of them.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Cluster, type Gateway, signInAt, startCluster } from "../support/cluster.ts";
import { type Collector, startCollector } from "../support/collector.ts";
import { describeWithCollector } from "../support/describe-with-collector.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { eventually, type RunningProcess } from "../support/service.ts";

describeWithNats("over NATS", () => {
  describeWithCollector("traces", () => {
    let cluster: Cluster;
    let collector: Collector;
    let gateway: Gateway;
    let services: RunningProcess;
    beforeAll(async () => {
      [cluster, collector] = await Promise.all([startCluster(), startCollector()]);
      const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
      services = await cluster.startServices({ ...traced, NODE_ID: "services-1" });
      gateway = await cluster.startGateway({ ...traced, NODE_ID: "gateway-1" });
    });
    afterAll(async () => {
      await cluster?.stop();
      await collector?.stop();
    });

    it("go on in the process that an action runs in, under one id that both logs have", async () => {
      const token = await signInAt(gateway, "admin");
      const answer = await gateway.call("POST", "/api/admin/departments", {
        token,
        body: { name: "Traced" },
      });
      expect(answer.status).toBe(201);
      const requestId = answer.headers.get("x-request-id");
      const spans = await eventually(async () => {
        const all = collector.spans();
        const root = all.find(({ attributes }) => attributes["records.request_id"] === requestId);
        const found = all.filter(({ traceId }) => traceId === root?.traceId);
        return found.some(({ name }) => name === "insert departments") && root !== undefined && found;
      });
      const at = (name: string) => spans.find((span) => span.name === name);
      const [root, action, statement] = [
        "POST /api/admin/departments",
        "departments.create",
        "insert departments",
      ].map(at);
      expect(root?.resource["service.instance.id"]).toBe("gateway-1");
      expect(action?.resource["service.instance.id"]).toBe("services-1");
      expect(statement?.resource["service.instance.id"]).toBe("services-1");
      const parents = new Map(spans.map((span) => [span.spanId, span]));
      const names: string[] = [];
      for (let span = statement; span !== undefined; span = parents.get(span.parentSpanId ?? ""))
        names.unshift(span.name);
      expect(names).toEqual([
        "POST /api/admin/departments",
        "api-gateway.rest",
        "departments.create",
        "transaction",
        "insert departments",
      ]);
    });

    it("name the request in the log of the process where it failed", async () => {
      // The services' own table is taken away for the length of one request.
      const { owner } = cluster.database;
      const token = await signInAt(gateway, "admin");
      await owner.query("alter table preferences rename to preferences_away");
      const answer = await gateway.call("GET", "/api/preferences", { token });
      await owner.query("alter table preferences_away rename to preferences");
      expect(answer.status).toBeGreaterThanOrEqual(500);
      const requestId = answer.headers.get("x-request-id") ?? "-";
      const line = await eventually(async () =>
        services
          .output()
          .split("\n")
          .find((each) => each.includes(requestId) && each.includes('"msg":"failed"')),
      );
      expect(JSON.parse(line)).toMatchObject({ requestId, traceId: expect.stringMatching(/^[0-9a-f]{32}$/) });
    });
  });
});
