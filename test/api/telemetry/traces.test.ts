// One trace from the gateway through the services to the statements, the job and the delivery, as a real OpenTelemetry
// collector receives it; and what it never holds.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Collector, type SeenSpan, startCollector } from "../../support/collector.ts";
import { describeWithCollector } from "../../support/describe-with-collector.ts";
import { freePort } from "../../support/nats.ts";
import { cardBody, cardSignature, paymentSettings } from "../../support/notifications.ts";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { type Receiver, startReceiver } from "../../support/webhooks.ts";

const kindServer = 2;
const kindClient = 3;
const kindConsumer = 5;

describeWithCollector("a trace", () => {
  let collector: Collector;
  let receiver: Receiver;
  let service: TestService;
  let admin: string;
  let metricsPort: number;

  beforeAll(async () => {
    collector = await startCollector();
    receiver = await startReceiver();
    metricsPort = await freePort();
    service = await startService({
      ...paymentSettings,
      METRICS_PORT: String(metricsPort),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: "x-clinic-key=canary%20header",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test,site=a%20b",
      OTEL_SERVICE_NAME: "records-under-test",
      WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8",
      LOG_LEVEL: "debug",
    });
    admin = await service.signIn("admin");
  });
  afterAll(async () => {
    await service?.stop();
    await receiver?.stop();
    await collector?.stop();
  });

  /** The spans of the request with this id, once the collector has as many as `isWhole` wants. */
  const traceOf = (requestId: string, isWhole: (spans: SeenSpan[]) => boolean): Promise<SeenSpan[]> =>
    eventually(async () => {
      const all = collector.spans();
      const root = all.find(({ attributes }) => attributes["records.request_id"] === requestId);
      const spans = all.filter(({ traceId }) => traceId === root?.traceId);
      return root !== undefined && isWhole(spans) && spans;
    });
  const idOf = (answer: { headers: Headers }) => answer.headers.get("x-request-id") ?? "";
  const named = (spans: SeenSpan[], name: string) => spans.find((span) => span.name === name);
  const parentOf = (spans: SeenSpan[], span: SeenSpan | undefined) =>
    spans.find(({ spanId }) => spanId === span?.parentSpanId);

  it("goes from the gateway through the action to the statement, each the child of what called it", async () => {
    const answer = await service.call("GET", "/api/users/me", { token: admin });
    expect(answer.status).toBe(200);
    const spans = await traceOf(idOf(answer), (found) => found.length >= 5);
    const root = named(spans, "GET /api/users/me");
    expect(root).toMatchObject({ kind: kindServer });
    expect(root?.parentSpanId ?? "").toBe("");
    expect(root?.attributes).toMatchObject({
      "http.route": "/api/users/me",
      "http.request.method": "GET",
      "http.response.status_code": "200",
    });
    expect(root?.resource).toMatchObject({
      "service.name": "records-under-test",
      "deployment.environment.name": "test",
      site: "a b",
    });
    const session = named(spans, "auth.live_sessions");
    expect(session).toMatchObject({ kind: kindClient });
    expect(parentOf(spans, session)?.name).toBe("auth.authenticate");
    const profile = spans.find(
      (span) => parentOf(spans, span)?.name === "users.me" && span.kind === kindClient,
    );
    expect(profile?.attributes).toEqual({ "db.system.name": "postgresql" });
    const known = new Set(spans.map(({ spanId }) => spanId));
    expect(spans.filter(({ parentSpanId = "" }) => parentSpanId !== "" && !known.has(parentSpanId))).toEqual(
      [],
    );
  });

  it("says of a refusal its code, and of a fault of ours alone that it is one", async () => {
    const answer = await service.call("GET", "/api/patients/99999", { token: admin });
    expect(answer.status).toBe(404);
    const spans = await traceOf(idOf(answer), (found) => found.length >= 2);
    const root = named(spans, "GET /api/patients/{patient_id}");
    expect(root?.attributes).toMatchObject({ "error.type": answer.body.code });
    expect(root?.status?.code ?? 0).toBe(0);
  });

  it("of a client's is not joined but linked, whatever it wants recorded", async () => {
    const foreign = { traceId: randomBytes(16).toString("hex"), spanId: randomBytes(8).toString("hex") };
    for (const flags of ["01", "00"]) {
      const traceparent = `00-${foreign.traceId}-${foreign.spanId}-${flags}`;
      const answer = await service.call("GET", "/api/auth/tenants", { headers: { traceparent } });
      const spans = await traceOf(idOf(answer), (found) => found.length >= 2);
      const root = named(spans, "GET /api/auth/tenants");
      expect(root?.traceId).not.toBe(foreign.traceId);
      expect(root?.links).toMatchObject([foreign]);
    }
    for (const traceparent of [
      "00-zz-1-01",
      `00-${"0".repeat(32)}-${"0".repeat(16)}-01`,
      "x".repeat(4_000),
    ]) {
      const answer = await service.call("GET", "/api/auth/tenants", { headers: { traceparent } });
      const spans = await traceOf(idOf(answer), (found) => found.length >= 2);
      expect(named(spans, "GET /api/auth/tenants")?.links ?? []).toEqual([]);
    }
  });

  it("goes on in the job that follows, whose log lines bear the request's id", async () => {
    const answer = await service.call("POST", "/api/auth/request-reset", {
      body: { email: "nurse@demo.example", subdomain: "demo" },
    });
    expect(answer.status).toBeLessThan(300);
    const isJob = ({ kind }: SeenSpan) => kind === kindConsumer;
    const spans = await traceOf(idOf(answer), (found) => found.some(isJob));
    expect(spans.find(isJob)?.name).toMatch(/^mail\./);
    expect(named(spans, "transaction")).toBeDefined();
  });

  it("goes on in the delivery that follows, which tells the endpoint nothing of it", async () => {
    const registered = await service.call("POST", "/api/webhooks/register", {
      token: admin,
      body: { url: `${receiver.url}/hook`, events: ["*"] },
    });
    expect(registered.status).toBe(201);
    const answer = await service.call("POST", "/api/admin/departments", {
      token: admin,
      body: { name: "Department canaryname" },
    });
    expect(answer.status).toBe(201);
    const spans = await traceOf(idOf(answer), (found) => named(found, "deliver webhook") !== undefined);
    expect(named(spans, "deliver webhook")).toMatchObject({
      kind: kindClient,
      attributes: { "records.outcome": "delivered", "http.response.status_code": "200" },
    });
    const [received] = receiver.received;
    expect(received?.headers["traceparent"]).toBeUndefined();
    expect(JSON.stringify(received?.body)).not.toContain(spans[0]?.traceId);
  });

  it("goes on in the delivery of a payment's event, though notifications are written by the batch", async () => {
    const body = cardBody({ id: "traced" });
    const answer = await service.call("POST", "/webhooks/card-provider", {
      body,
      headers: { "provider-signature": cardSignature(body) },
    });
    expect(answer.status).toBe(200);
    const spans = await traceOf(idOf(answer), (found) => named(found, "deliver webhook") !== undefined);
    expect(named(spans, "POST /webhooks/card-provider")).toMatchObject({ kind: kindServer });
    expect(spans.filter(({ name }) => name === "deliver webhook")).toHaveLength(1);
  });

  it("is the exemplar of the bucket that its request and its action are counted in", async () => {
    const answer = await service.call("GET", "/api/preferences", { token: admin });
    const [root] = await traceOf(idOf(answer), (found) => found.length >= 3);
    const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`, {
      headers: { accept: "application/openmetrics-text; version=1.0.0" },
    });
    const lines = (await response.text()).split("\n").filter((line) => line.includes(`"${root?.traceId}"`));
    expect(lines).toContainEqual(
      expect.stringMatching(
        /^records_http_request_seconds_bucket\{[^}]*route="\/api\/preferences"[^}]*\} \d+ # \{trace_id=/,
      ),
    );
    expect(lines).toContainEqual(
      expect.stringMatching(/^records_action_seconds_bucket\{[^}]*action="preferences\.\w+"/),
    );
  });

  it("has no name, value, token, address or header in it", async () => {
    const canaries = ["canarypatient", "canaryquery", "canaryagent", "canarybroken", "canarymail"];
    const headers = { "user-agent": "canaryagent/1.0", cookie: "a=canaryagent" };
    const doctor = await service.signIn("doctor");
    const created = await service.call("POST", "/api/patients", {
      token: doctor,
      headers,
      body: { record_number: "R-canarypatient", full_name: "canarypatient", notes: "canarypatient" },
    });
    await service.call("GET", "/api/admin/users?search=canaryquery", { token: admin, headers });
    await service.call("POST", "/api/admin/users", { token: admin, headers, body: "{canarybroken" });
    await service.call("POST", "/api/auth/login", {
      headers,
      body: { email: "canarymail@people.example", password: "canarymail-Aa1!", subdomain: "demo" },
    });
    const last = await service.call("GET", "/canaryquery/canaryquery?token=canaryquery", {
      token: admin,
      headers,
    });
    expect(created.status).toBe(201);
    await traceOf(idOf(last), (found) => found.length >= 1);
    const text = collector.text();
    const secrets = [...canaries, admin, doctor, "canaryname", "canary header", "127.0.0.1:", receiver.url];
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
    expect(text).not.toMatch(/Open-Sesame|@demo\.example/);
  });

  it("is named in every log line of its request", async () => {
    const answer = await service.call("GET", "/api/users/me", { token: admin });
    const [root] = await traceOf(idOf(answer), (found) => found.length >= 1);
    const line = await eventually(async () =>
      service.process
        .output()
        .split("\n")
        .find((each) => each.includes(idOf(answer)) && each.includes('"mod":"access"')),
    );
    expect(JSON.parse(line)).toMatchObject({ requestId: idOf(answer), traceId: root?.traceId, status: 200 });
  });
});
