// Without OpenTelemetry's variables nothing of its SDK is loaded; with a collector that is away the service works all the same, says
// so at a bounded rate, and stops in time.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { freePort } from "../../support/nats.ts";
import { startService, type TestService } from "../../support/service.ts";

/** Prints which packages of OpenTelemetry a process loads. */
const telling = `import { registerHooks } from "node:module";
registerHooks({ resolve(name, context, next) {
  if (name.includes("@opentelemetry/")) process.stderr.write("loads " + name + "\\n");
  return next(name, context);
} });`;
const watching = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(telling)}` };

describe("a collector that is away", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({
      ...watching,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
    });
  });
  afterAll(() => service.stop());

  it("fails no request, costs one line a minute, and does not hold up the end", async () => {
    for (let n = 0; n < 200; n++) expect((await service.call("GET", "/api/auth/tenants")).status).toBe(200);
    await service.process.printed(/traces could not be sent, and are lost/);
    const stoppedAt = performance.now();
    expect(await service.process.stop()).toBe(0);
    expect(performance.now() - stoppedAt).toBeLessThan(30_000);
    const warned = service.process
      .output()
      .split("\n")
      .filter((line) => line.includes("could not be sent"));
    expect(warned.length).toBeLessThanOrEqual(2);
    expect(service.process.output()).toContain("loads @opentelemetry/sdk-trace");
    expect(warned[0]).toMatch(/"mod":"tracing".*"spans":\d+/);
  });
});

describe("without a collector", () => {
  it("nothing of the SDK is loaded (prom-client has its interfaces), and no line has a trace", async () => {
    const service = await startService({ ...watching, OTEL_SERVICE_NAME: "records" });
    try {
      const answer = await service.call("GET", "/api/auth/tenants", {
        headers: { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` },
      });
      expect(answer.status).toBe(200);
      await service.process.printed(/"mod":"access"/);
      expect(service.process.output()).not.toMatch(/loads @opentelemetry\/(?!api\b)|traceId/);
    } finally {
      await service.stop();
    }
  });
});
