// What an operator can choose in the chart: scaling, drain times, images, authorities, sign-ins, OpenShift, IPv6.
import { expect, it } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stopMsMax } from "../../services/shared/drain.ts";
import { describeWithHelm } from "../support/describe-with-helm.ts";
import { describeWithPrometheus } from "../support/describe-with-prometheus.ts";
import { promtool } from "../support/prometheus.ts";
import type { Tree } from "./deployment-files.ts";
import { containerOf, environmentOf, examples, needed, podOf, render } from "./rendered-chart.ts";

const given = (...set: string[]) => render({ set: [...needed, ...set] });
const example = (name: string) => render({ valueFiles: [join(examples, `values-${name}.yaml`)] });
const autoscaling = ["minReplicas=2", "maxReplicas=8", "cpuPercent=70", "enabled=true"].map(
  (each) => `processes.accounts.autoscaling.${each}`,
);
const queue = ["minReplicas=2", "maxReplicas=6", "perPod=500", "enabled=true"].map(
  (each) => `processes.outbound.queueScaling.${each}`,
);

describeWithHelm("the chart's choices", () => {
  it.each([100, 10_000, 20_500, 120_000])(
    "gives time to stop for REQUEST_TIMEOUT_MS=%i",
    (requestTimeoutMs) => {
      const spare = "drain.spareSeconds=25";
      const { deployments } = given(`settings.REQUEST_TIMEOUT_MS=${requestTimeoutMs}`, spare);
      for (const each of deployments) {
        const waits = containerOf(each).lifecycle?.preStop.sleep.seconds ?? 0;
        const { terminationGracePeriodSeconds } = podOf(each);
        expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
          stopMsMax({ requestTimeoutMs }) / 1000 + waits + 5,
        );
        expect(terminationGracePeriodSeconds).toBeLessThan(requestTimeoutMs / 1000 + 50);
      }
    },
  );
  it("leaves the number of pods to the autoscaler, which counts by CPU of what was asked for", () => {
    const release = given(...autoscaling);
    const [scaler] = release.of("HorizontalPodAutoscaler");
    const accounts = release.deployment("accounts");
    expect(accounts.spec).not.toHaveProperty("replicas");
    expect(scaler.spec).toMatchObject({
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: accounts.metadata.name },
      minReplicas: 2,
      maxReplicas: 8,
    });
    expect(containerOf(accounts).resources.requests.cpu).toBeDefined();
    expect(release.deployment("gateway").spec.replicas).toBe(2);
    expect(() =>
      given(
        ...autoscaling,
        "monitoring.enabled=true",
        ...queue,
        "processes.outbound.autoscaling.enabled=true",
        "processes.outbound.autoscaling.minReplicas=1,processes.outbound.autoscaling.maxReplicas=2,processes.outbound.autoscaling.cpuPercent=50",
      ),
    ).toThrow(/autoscaling and queueScaling: one of them/);
  });
  it("scales by the queue where Prometheus is asked for figures", () => {
    const release = given(...queue, "monitoring.enabled=true");
    const [{ spec }] = release.of("ScaledObject") as [Tree];
    const outbound = release.deployment("outbound");
    expect(spec.scaleTargetRef.name).toBe(outbound.metadata.name);
    expect(outbound.spec).not.toHaveProperty("replicas");
    expect(spec).toMatchObject({ minReplicaCount: 2, maxReplicaCount: 6 });
    expect(() => given(...queue)).toThrow(/queueScaling needs monitoring\.enabled/);
  });
  it("names the image by its digest, and how it is pulled", () => {
    const digest = `sha256:${"a1".repeat(32)}`;
    const release = given(
      `image.digest=${digest}`,
      "image.repository=r.example/records",
      "imagePullSecrets[0].name=key",
    );
    for (const each of [...release.deployments, ...release.of("Job")]) {
      expect(containerOf(each).image).toBe(`r.example/records@${digest}`);
      expect(podOf(each).imagePullSecrets).toEqual([{ name: "key" }]);
    }
  });
  it("mounts authorities of one's own where the settings look for them", () => {
    const release = given(
      "authorities.bus.configMap=bus-ca",
      "authorities.database.secret=db-ca",
      "authorities.store.secret=s3-ca,authorities.store.key=root.pem",
      "database.url=postgresql://db:5432/records?sslmode=verify-full",
    );
    const backups = environmentOf(release.deployment("backups"), release, (key) => key.repeat(3));
    expect(backups).toMatchObject({
      NATS_CA_FILE: "/run/authorities/bus/ca.crt",
      S3_CA_FILE: "/run/authorities/store/root.pem",
      DATABASE_APP_URL:
        "postgresql://db:5432/records?sslmode=verify-full&sslrootcert=/run/authorities/database/ca.crt",
    });
    for (const each of [...release.deployments, ...release.of("Job")]) {
      const volumes = podOf(each).volumes.map(({ name }: Tree) => name);
      expect(volumes).toEqual(["tmp", "bus-authority", "database-authority", "store-authority"]);
      expect(containerOf(each).volumeMounts.map(({ name }: Tree) => name)).toEqual(volumes);
    }
    const secret = podOf(release.deployment("crypto")).volumes[2].secret;
    expect(secret.items).toEqual([{ key: "ca.crt", path: "ca.crt" }]);
    expect(() => given("authorities.bus.configMap=a,authorities.bus.secret=b")).toThrow(/authorities\/bus/);
  });
  it.each([
    ["token", "NATS_TOKEN"],
    ["nkey", "NATS_NKEY_SEED"],
    ["creds", "NATS_CREDS"],
  ])("signs in to NATS by %s", (way, key) => {
    const release = given(`bus.auth=${way}`);
    for (const each of release.deployments)
      expect(containerOf(each).env).toContainEqual({
        name: key,
        valueFrom: { secretKeyRef: { name: "records-bus", key } },
      });
  });
  it("opens the port of a pooler, and tells the processes of it", () => {
    const release = given("database.pooler=transaction", "networkPolicy.database.ports={5432,6432}");
    const environment = environmentOf(release.deployment("support"), release, (key) => key);
    expect(environment["DATABASE_POOLER"]).toBe("transaction");
    const policy = release.of("NetworkPolicy").find(({ metadata }) => metadata.name.endsWith("-database"));
    expect(policy.spec.egress[0].ports.map(({ port }: Tree) => port)).toEqual([5432, 6432]);
  });
  it("asks for no user or group where the platform gives one (OpenShift)", () => {
    const release = example("openshift");
    for (const each of [...release.deployments, ...release.of("Job")]) {
      expect(podOf(each).securityContext).toEqual({
        runAsNonRoot: true,
        seccompProfile: { type: "RuntimeDefault" },
      });
      expect(containerOf(each).env).toContainEqual({ name: "HOME", value: "/tmp" });
    }
  });
  it("listens on IPv6, and lets nothing out but to the networks named", () => {
    const release = example("ipv6");
    expect(environmentOf(release.deployment("gateway"), release, (key) => key)["HOST"]).toBe("::");
    const cidrs = JSON.stringify(release.of("NetworkPolicy")).match(/fd00:10::[^"]*/g);
    expect(new Set(cidrs)).toEqual(new Set(["fd00:10::/32", "fd00:10::a/128"]));
    const [route] = release.of("HTTPRoute");
    const [service] = release.of("Service");
    expect(route.spec.rules[0].backendRefs).toEqual([
      { name: service.metadata.name, port: service.spec.ports[0].port },
    ]);
    expect(service.spec.ipFamilyPolicy).toBe("PreferDualStack");
  });
  it("shows the name servers of the node's cache to all pods, beside those of the cluster", () => {
    const policy = given()
      .of("NetworkPolicy")
      .find(({ metadata }) => metadata.name.endsWith("-names"));
    expect(policy.spec.egress[0].to[1]).toEqual({ ipBlock: { cidr: "169.254.20.10/32" } });
  });
  it("keeps two releases in one namespace apart", () => {
    const [one, other] = ["one", "other"].map((release) => render({ set: needed, release }));
    const names = (release: typeof one) =>
      release?.objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`) ?? [];
    expect(names(one).filter((name) => names(other).includes(name))).toEqual([]);
    const selector = (release: typeof one) => release?.of("Service")[0].spec.selector;
    expect(selector(one)).not.toEqual(selector(other));
    for (const { spec } of one?.of("NetworkPolicy") ?? [])
      expect(spec.podSelector.matchLabels["app.kubernetes.io/instance"]).toBe("one");
  });
});

describeWithHelm("the queues that KEDA asks for", () => {
  describeWithPrometheus("by a real PromQL", () => {
    it("count each queue once, however many pods show it, and only those of the process", async () => {
      const { of } = given(...queue, "monitoring.enabled=true");
      const { query } = of("ScaledObject")[0].spec.triggers[0].metadata;
      const series = (name: string, labels: string, value: number) =>
        ["one", "two"].map((pod) => ({ series: `${name}{pod="${pod}",${labels}}`, values: `${value}` }));
      const test = {
        rule_files: [],
        tests: [
          {
            interval: "1m",
            input_series: [
              ...series("records_deliveries_pending", 'namespace="records",channel="webhook"', 1000),
              ...series("records_deliveries_pending", 'namespace="records",channel="messenger"', 100),
              ...series("records_deliveries_pending", 'namespace="other",channel="webhook"', 7000),
              ...series("records_jobs", 'namespace="records",state="waiting",task="webhooks.sweep"', 50),
              ...series("records_jobs", 'namespace="records",state="waiting",task="mail.send"', 900),
              ...series("records_jobs", 'namespace="records",state="failed",task="webhooks.sweep"', 900),
            ],
            promql_expr_test: [
              { expr: query, eval_time: "0m", exp_samples: [{ labels: "{}", value: 1150 }] },
            ],
          },
          {
            interval: "1m",
            input_series: [],
            promql_expr_test: [{ expr: query, eval_time: "0m", exp_samples: [{ labels: "{}", value: 0 }] }],
          },
        ],
      };
      const folder = mkdtempSync(join(tmpdir(), "records-keda-"));
      try {
        const file = join(folder, "queues.json");
        writeFileSync(file, JSON.stringify(test));
        expect(await promtool("test", "rules", file)).toContain("SUCCESS");
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  });
});
