// The Kubernetes manifests held to rules: as they are written (base and components), and, where kubectl is installed,
// as each overlay renders them.
import { describe, expect, it } from "@jest/globals";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  filesOf,
  image,
  pinned,
  readYaml,
  rendered,
  root,
  isSecret,
  serviceFolders,
  isSetting,
  stopSecondsMax,
  type Tree,
  yamlFilesUnder,
} from "./deployment-files.ts";
import { ConfigError, readConfig } from "../../host/settings/config.ts";

const overlays = ["k8s/overlays/dev", "k8s/overlays/production"];
const kustomizations = yamlFilesUnder("k8s").filter((path) => path.endsWith("kustomization.yaml"));
/** Keys of the Secrets, as docs/deploy.md creates them. */
const secretKeys: Record<string, readonly string[]> = {
  "records-bus": ["NATS_URL", "BUS_SECRET", "NATS_PASSWORD"],
  "records-accounts": ["JWT_SECRET", "JWT_PREVIOUS_SECRETS", "ADMIN_PASSWORD", "DATABASE_PASSWORD_ACCOUNTS"],
  "records-crypto": ["BOOT_SECRET", "DATABASE_PASSWORD_CRYPTO"],
  "records-support": [
    "AUDIT_SIGNING_KEY",
    "DATABASE_PASSWORD_SUPPORT",
    "SMTP_URL",
    "CARD_WEBHOOK_SECRETS",
    "WALLET_WEBHOOK_SECRETS",
  ],
  "records-outbound": ["DATABASE_PASSWORD_OUTBOUND", "TELEGRAM_BOT_TOKEN", "AUDIT_CHECKPOINT_URL"],
  "records-backups": ["DATABASE_PASSWORD_BACKUPS"],
  "records-owner": ["DATABASE_URL", "POSTGRES_PASSWORD"],
  "records-store": ["S3_ACCESS_KEY", "S3_SECRET_KEY"],
};
/** Which of them a workload reads. The migration sets the passwords of all logins. */
const secretsOf: Record<string, readonly string[]> = {
  gateway: ["records-bus"],
  accounts: ["records-bus", "records-accounts"],
  crypto: ["records-bus", "records-crypto"],
  support: ["records-bus", "records-support"],
  outbound: ["records-bus", "records-outbound"],
  backups: ["records-bus", "records-backups", "records-store"],
  migrate: [
    "records-owner",
    "records-accounts",
    "records-backups",
    "records-crypto",
    "records-support",
    "records-outbound",
  ],
};

describe("files", () => {
  it("are all YAML, one object a document", () => {
    // Kustomize makes a ConfigMap of the dashboard as it is.
    const objects = yamlFilesUnder("k8s").filter(
      (path) => path !== "k8s/components/monitoring/dashboard.json",
    );
    for (const path of objects) {
      expect(path).toMatch(/\.yaml$/);
      for (const document of readYaml(path)) {
        expect(document).toMatchObject({ apiVersion: expect.any(String), kind: expect.any(String) });
      }
    }
  });
  it("that a kustomization names exist, and none is left out", () => {
    const named = new Set([
      ...overlays.flatMap((overlay) => filesOf(join(overlay, "kustomization.yaml"))),
      ...kustomizations.flatMap((path) => filesOf(path)),
    ]);
    expect([...named].sort()).toEqual(yamlFilesUnder("k8s"));
  });
});

interface Stage {
  name: string;
  objects: Tree[];
  /** The settings that all services get. */
  settings: Record<string, string>;
  hasServices: boolean;
}

const literalsOf = (path: string): Record<string, string> =>
  Object.fromEntries(
    (readYaml(path)[0].configMapGenerator ?? []).flatMap(({ literals = [] }: Tree) =>
      literals.map((each: string) => [each.slice(0, each.indexOf("=")), each.slice(each.indexOf("=") + 1)]),
    ),
  );

function written(folder: string): Stage {
  const path = join(folder, "kustomization.yaml");
  const objects = filesOf(path)
    .filter((file) => file.endsWith(".yaml") && !file.endsWith("kustomization.yaml"))
    .flatMap(readYaml);
  return { name: folder, objects, settings: literalsOf(path), hasServices: folder === "k8s/base" };
}

const stages: Stage[] = [
  "k8s/base",
  "k8s/components/nats",
  "k8s/components/postgres-dev",
  "k8s/components/store-dev",
].map(written);
for (const name of overlays) {
  const objects = rendered(name);
  if (objects === undefined) {
    it.skip(`${name} as rendered: needs kubectl on PATH`, () => {});
    continue;
  }
  const maps = objects.filter(({ kind }) => kind === "ConfigMap").map(({ data }) => data);
  const settings = Object.assign({}, ...maps);
  stages.push({ name: `${name} as rendered`, objects, settings, hasServices: true });
}

const kinds = (objects: Tree[], ...wanted: string[]) => objects.filter(({ kind }) => wanted.includes(kind));
const labelOf = ({ metadata }: Tree): string => metadata.labels["app.kubernetes.io/component"];

/** Jest's own `each` refuses an empty table; components have no Deployment. */
function describeEach(table: (readonly [string, Tree])[], body: (workload: Tree) => void): void {
  for (const [name, workload] of table) describe(name, () => body(workload));
}

describe.each(stages.map((stage) => [stage.name, stage] as const))("%s", (_name, stage) => {
  const { objects, settings } = stage;
  const workloads = kinds(objects, "Deployment", "StatefulSet", "Job");
  const served = kinds(objects, "Deployment", "StatefulSet");
  const deployments = kinds(objects, "Deployment");
  const podOf = ({ spec }: Tree) => spec.template.spec;
  const containerOf = (workload: Tree) => podOf(workload).containers[0];
  const named = (list: Tree[]) => list.map((each) => [`${each.kind} ${each.metadata.name}`, each] as const);

  it("has no Secret, and no kind that nobody thought of", () => {
    const known =
      /^(?:Namespace|ServiceAccount|ConfigMap|Deployment|StatefulSet|Job|Service|Ingress|NetworkPolicy|PodDisruptionBudget|PodMonitor|PrometheusRule)$/;
    expect(objects.map(({ kind }) => kind).filter((kind) => !known.test(kind))).toEqual([]);
  });

  describeEach(named(workloads), (workload) => {
    const pod = podOf(workload);
    const container = containerOf(workload);

    it("is one container of an image of one exact version, ours of this one", () => {
      expect(pod.containers).toHaveLength(1);
      expect(pod.initContainers).toBeUndefined();
      expect(container.image).toMatch(pinned);
      if (container.image.startsWith("records")) expect(container.image).toBe(image);
    });
    it("runs as no root, on a read-only root, with no capability and no token of the cluster", () => {
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: expect.any(Number),
        seccompProfile: { type: "RuntimeDefault" },
      });
      expect(pod.securityContext.runAsUser).toBeGreaterThan(0);
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
      for (const key of ["hostNetwork", "hostPID", "hostIPC"]) expect(pod).not.toHaveProperty(key);
    });
    it("asks for what it needs and is bounded in memory, not in CPU", () => {
      expect(container.resources).toEqual({
        requests: { cpu: expect.any(String), memory: expect.any(String) },
        limits: { memory: expect.any(String) },
      });
    });
    it("mounts bounded scratch space at /tmp, and nothing of the host", () => {
      const volumes = pod.volumes ?? [];
      for (const volume of volumes) {
        expect(volume).toEqual({
          name: expect.any(String),
          emptyDir: { sizeLimit: expect.stringMatching(/^\d+Mi$/) },
        });
      }
      const claims = (workload.spec.volumeClaimTemplates ?? []).map(({ metadata }: Tree) => metadata.name);
      const mounts = container.volumeMounts.map(({ name }: Tree) => name);
      expect(mounts.sort()).toEqual([...volumes.map(({ name }: Tree) => name), ...claims].sort());
      expect(container.volumeMounts).toContainEqual({ name: "tmp", mountPath: "/tmp" });
    });
    it("takes secrets by reference only, from keys that the documentation creates", () => {
      for (const { name, value, valueFrom } of container.env) {
        const reference = valueFrom?.secretKeyRef;
        if (isSecret(name) || /PASSWORD|SECRET|TOKEN/.test(name)) expect(value).toBeUndefined();
        if (reference === undefined) continue;
        expect(secretKeys[reference.name]).toContain(reference.key);
        expect(reference.key).toBe(name);
      }
    });
  });

  describeEach(named(served), (workload) => {
    it("selects its own pods", () => {
      expect(workload.spec.template.metadata.labels).toMatchObject(workload.spec.selector.matchLabels);
    });
    it("is probed when it starts, while it lives and before it is used", () => {
      const container = containerOf(workload);
      for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
        const { httpGet, exec } = container[probe];
        expect(httpGet === undefined).toBe(exec !== undefined);
        if (httpGet !== undefined) {
          expect(container.ports.map(({ name }: Tree) => name)).toContain(httpGet.port);
        }
      }
    });
  });

  describeEach(named(deployments), (workload) => {
    const pod = podOf(workload);
    const container = containerOf(workload);
    const portNamed = (name: string) =>
      container.ports.find((port: Tree) => port.name === name)?.containerPort;

    it("answers /livez and /readyz where HEALTH_PORT says", () => {
      expect(container.livenessProbe.httpGet).toEqual({ path: "/livez", port: "health" });
      expect(container.startupProbe.httpGet).toEqual({ path: "/livez", port: "health" });
      expect(container.readinessProbe.httpGet).toEqual({ path: "/readyz", port: "health" });
      expect(String(portNamed("health"))).toBe(settings["HEALTH_PORT"]);
      if (labelOf(workload) === "gateway") expect(String(portNamed("http"))).toBe(settings["PORT"]);
    });
    it("is replaced one pod after another, none missing meanwhile", () => {
      expect(workload.spec.strategy).toEqual({
        type: "RollingUpdate",
        rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
      });
      expect(pod.topologySpreadConstraints[0].labelSelector.matchLabels).toEqual(
        workload.spec.selector.matchLabels,
      );
    });
    it("has time to stop; the gateway takes requests a little longer than it is announced", () => {
      const waits = container.lifecycle?.preStop.sleep.seconds ?? 0;
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(stopSecondsMax(settings) + waits);
      expect(waits > 0).toBe(labelOf(workload) === "gateway");
    });
    it("is known on the bus by its pod's name", () => {
      expect(container.env).toContainEqual({
        name: "NODE_ID",
        valueFrom: { fieldRef: { fieldPath: "metadata.name" } },
      });
    });
    it("is kept from a drain by a budget exactly when there are several", () => {
      const budgets = kinds(objects, "PodDisruptionBudget").filter(
        ({ spec }) => spec.selector.matchLabels["app.kubernetes.io/component"] === labelOf(workload),
      );
      expect(budgets).toHaveLength(workload.spec.replicas >= 2 ? 1 : 0);
      for (const { spec } of budgets) expect(spec.selector).toEqual(workload.spec.selector);
    });
    it("is alike the others but for its name, its folders, its secrets and its ports", () => {
      const common = ({ spec }: Tree) => {
        const [container] = spec.template.spec.containers;
        const { env: _env, envFrom: _from, ports: _ports, lifecycle: _lifecycle, ...rest } = container;
        const { containers: _containers, topologySpreadConstraints: _spread, ...others } = spec.template.spec;
        return { rest, others, strategy: spec.strategy };
      };
      expect(common(workload)).toEqual(common(deployments[0]));
    });
  });

  if (stage.hasServices) {
    const ours = workloads.filter((each) => containerOf(each).image === image);
    const foldersOf = (workload: Tree): string[] =>
      containerOf(workload)
        .env.find(({ name }: Tree) => name === "SERVICES")
        .value.split(",");

    it("runs every service folder in exactly one Deployment, grouped as in docker-compose.yml", () => {
      expect(deployments.flatMap(foldersOf).sort()).toEqual(serviceFolders);
      const [compose] = readYaml("docker-compose.yml");
      for (const each of deployments) {
        expect(foldersOf(each).join(",")).toBe(compose.services[labelOf(each)].environment.SERVICES);
      }
    });
    it("is set up by settings that exist, and by no secret in the open", () => {
      const names = [
        ...Object.keys(settings),
        ...ours.flatMap((each) => containerOf(each).env.map(({ name }: Tree) => name)),
      ];
      expect(names.filter((name) => !isSetting(name))).toEqual([]);
      const open = Object.entries(settings).filter(([name]) => isSecret(name));
      expect(open.map(([name]) => name)).toEqual(["DATABASE_APP_URL"]);
      for (const [, value] of open) expect(value).not.toContain("@");
    });
    const referencesOf = (workload: Tree): Tree[] =>
      containerOf(workload).env.flatMap(({ valueFrom }: Tree) => valueFrom?.secretKeyRef ?? []);
    it("gives all Deployments the same settings and the secrets they share", () => {
      const shared = new Set(["NATS_URL", "BUS_SECRET"]);
      const sharedOf = (each: Tree) => containerOf(each).env.filter(({ name }: Tree) => shared.has(name));
      for (const each of deployments) {
        expect(containerOf(each).envFrom.slice(0, 1)).toEqual(
          containerOf(deployments[0]).envFrom.slice(0, 1),
        );
        expect(sharedOf(each)).toHaveLength(shared.size);
        expect(sharedOf(each)).toEqual(sharedOf(deployments[0]));
      }
    });
    it("gives each process the Secrets that it uses", () => {
      for (const each of ours) {
        const wanted = secretsOf[labelOf(each)] ?? [];
        expect({ [labelOf(each)]: [...new Set(referencesOf(each).map(({ name }) => name))].sort() }).toEqual({
          [labelOf(each)]: [...wanted].sort(),
        });
      }
      const holders = (key: string) =>
        ours
          .filter((each) => referencesOf(each).some((reference) => reference.key === key))
          .map(labelOf)
          .sort();
      expect(holders("BOOT_SECRET")).toEqual(["crypto", "migrate"]);
      expect(holders("JWT_SECRET")).toEqual(["accounts"]);
      expect(holders("AUDIT_SIGNING_KEY")).toEqual(["support"]);
      for (const kind of ["accounts", "backups", "crypto", "outbound", "support"])
        expect(holders(`DATABASE_PASSWORD_${kind.toUpperCase()}`)).toEqual([kind, "migrate"].sort());
      const migration = ours.find((each) => labelOf(each) === "migrate");
      expect(referencesOf(migration).map(({ key }) => key)).not.toContain("JWT_SECRET");
    });
    it("gives the gateway what the bus needs, and neither a key nor a way to the database", () => {
      const gateway = deployments.find((each) => labelOf(each) === "gateway");
      expect(referencesOf(gateway).map(({ key }) => key)).toEqual(["NATS_URL", "BUS_SECRET"]);
      const maps = containerOf(gateway).envFrom.map(({ configMapRef }: Tree) => configMapRef.name);
      expect(maps).toEqual([expect.stringMatching(/^records(?!-database)/)]);
      for (const each of deployments.filter((other) => other !== gateway)) {
        const names = containerOf(each).envFrom.map(({ configMapRef }: Tree) => configMapRef.name);
        expect(names).toEqual([maps[0], expect.stringMatching(/^records-database/)]);
      }
    });
    it("leaves the owner's login to the one Job that migrates", () => {
      const holders = workloads.filter((each) =>
        containerOf(each).env.some(({ name }: Tree) => name === "DATABASE_URL"),
      );
      expect(holders.map((each) => `${each.kind} ${labelOf(each)}`)).toEqual(["Job migrate"]);
      expect(containerOf(holders[0]).command).toEqual(["node", "host/migrate.ts"]);
      expect(podOf(holders[0]).restartPolicy).toBe("OnFailure");
    });
    it("gives the accounts' process what it needs to make the first superadmin", () => {
      const seeding = deployments.filter((each) => foldersOf(each).includes("users"));
      expect(seeding.map(foldersOf)).toEqual([expect.arrayContaining(["auth", "tenants", "users"])]);
      expect(containerOf(seeding[0]).env.map(({ name }: Tree) => name)).toContain("ADMIN_PASSWORD");
    });
    const usersOf = (label: string) =>
      ours.filter(({ spec }) => spec.template.metadata.labels[label] === "true").map(labelOf);
    it("denies all traffic but the openings, and only to those who use them", () => {
      const policies = kinds(objects, "NetworkPolicy");
      const deny = policies.find(({ metadata }) => metadata.name === "deny-all");
      expect(deny.spec).toEqual({ podSelector: {}, policyTypes: ["Ingress", "Egress"] });
      expect(usersOf("uses-bus").sort()).toEqual([
        "accounts",
        "backups",
        "crypto",
        "gateway",
        "outbound",
        "support",
      ]);
      expect(usersOf("uses-database").sort()).toEqual([
        "accounts",
        "backups",
        "crypto",
        "migrate",
        "outbound",
        "support",
      ]);
      expect(usersOf("uses-mail")).toEqual(["support"]);
      expect(usersOf("uses-internet")).toEqual(["outbound"]);
      expect(usersOf("uses-store")).toEqual(["backups"]);
      for (const [policy, label, ports] of [
        ["bus", "uses-bus", [4222]],
        ["database", "uses-database", [5432]],
        ["store", "uses-store", [443, 3900, 7070, 8333, 9000]],
        ["mail", "uses-mail", [25, 465, 587]],
        ["internet", "uses-internet", [443, 1024]],
      ] as const) {
        const { spec } = policies.find(({ metadata }) => metadata.name === policy);
        expect(spec.podSelector.matchLabels).toEqual({
          "app.kubernetes.io/name": "records",
          [label]: "true",
        });
        expect(spec.policyTypes).toEqual(["Egress"]);
        expect(spec.egress).toHaveLength(1);
        expect(spec.egress[0].to.length).toBeGreaterThan(0);
        expect(spec.egress[0].ports.map(({ port }: Tree) => port)).toEqual(ports);
      }
      const entrances = policies.filter(
        ({ spec }) => spec.ingress !== undefined && spec.ingress[0].from === undefined,
      );
      expect(entrances.flatMap(({ spec }) => Object.keys(spec.podSelector.matchLabels))).toEqual([
        "app.kubernetes.io/name",
        "serves-clients",
      ]);
    });
    it("gives the store to the backups alone", () => {
      const holders = ours.filter((each) =>
        containerOf(each).env.some(({ valueFrom }: Tree) =>
          ((valueFrom?.secretKeyRef ?? valueFrom?.configMapKeyRef)?.name ?? "").startsWith("records-store"),
        ),
      );
      expect(holders.map(({ metadata }) => metadata.name)).toEqual(["backups"]);
      const { env } = containerOf(holders[0]);
      for (const { name, valueFrom } of env) {
        const reference = valueFrom?.configMapKeyRef;
        if (reference === undefined) continue;
        expect(reference.key).toBe(name);
        if (reference.optional !== true) expect(settings).toHaveProperty(name);
      }
      for (const name of Object.keys(settings).filter((each) => each.startsWith("S3_")))
        expect(env.map((each: Tree) => each.name)).toContain(name);
    });
    it("lets gateways fetch archives from the backups, and nobody else", () => {
      const policies = kinds(objects, "NetworkPolicy");
      const specOf = (wanted: string) => policies.find(({ metadata }) => metadata.name === wanted).spec;
      const backups = deployments.find((each) => labelOf(each) === "backups");
      const port = containerOf(backups).ports.find(({ name }: Tree) => name === "stream").containerPort;
      const labelled = (label: string) => ({
        matchLabels: { "app.kubernetes.io/name": "records", [label]: "true" },
      });
      expect(usersOf("serves-clients")).toEqual(["gateway"]);
      expect(usersOf("serves-archives")).toEqual(["backups"]);
      expect(containerOf(backups).env).toContainEqual({ name: "BACKUP_STREAM_PORT", value: String(port) });
      expect(specOf("archives")).toEqual({
        podSelector: labelled("serves-archives"),
        policyTypes: ["Ingress"],
        ingress: [
          {
            from: [{ podSelector: labelled("serves-clients") }],
            ports: [{ protocol: "TCP", port: "stream" }],
          },
        ],
      });
      expect(specOf("downloads")).toEqual({
        podSelector: labelled("serves-clients"),
        policyTypes: ["Egress"],
        egress: [{ to: [{ podSelector: labelled("serves-archives") }], ports: [{ protocol: "TCP", port }] }],
      });
    });
    it("admits only pods that keep to the restricted standard", () => {
      const [namespace] = kinds(objects, "Namespace");
      expect(namespace.metadata.labels).toEqual({ "pod-security.kubernetes.io/enforce": "restricted" });
    });
  }

  it("every Service and policy selects pods that are there", () => {
    const labels: Tree[] = workloads.map(({ spec }) => spec.template.metadata.labels);
    const selectors = [
      ...kinds(objects, "Service").map(({ spec }) => spec.selector),
      ...kinds(objects, "NetworkPolicy", "PodDisruptionBudget").map(
        ({ spec }) => (spec.podSelector ?? spec.selector).matchLabels ?? {},
      ),
    ];
    for (const selector of selectors) {
      const found = labels.filter((each) =>
        Object.entries(selector).every(([key, value]) => each[key] === value),
      );
      expect({ selector, found: found.length > 0 }).toEqual({ selector, found: true });
    }
  });
});

describe("components", () => {
  it("NATS asks for the password of its Secret", () => {
    const [{ spec }] = readYaml("k8s/components/nats/nats.yaml");
    const [container] = spec.template.spec.containers;
    expect(container.args.slice(0, 4)).toEqual(["--user", "records", "--pass", "$(NATS_PASSWORD)"]);
    expect(container.env[0].name).toBe("NATS_PASSWORD");
  });
  it("PostgreSQL 18 keeps its data where the claim is mounted", () => {
    const [{ spec }] = readYaml("k8s/components/postgres-dev/postgres.yaml");
    const [container] = spec.template.spec.containers;
    expect(container.image).toMatch(/^postgres:18\./);
    expect(container.volumeMounts).toContainEqual({ name: "database", mountPath: "/var/lib/postgresql" });
  });
  it("PostgreSQL's log holds no values of statements that fail", () => {
    const [{ spec }] = readYaml("k8s/components/postgres-dev/postgres.yaml");
    const compose = readYaml("docker-compose.yml")[0].services.postgres.command;
    expect(spec.template.spec.containers[0].args).toEqual(compose);
  });
  it("the store has a budget, and the folders it needs in its volume", () => {
    const objects = readYaml("k8s/components/store-dev/store.yaml");
    const [budget] = kinds(objects, "PodDisruptionBudget");
    expect(budget.spec.selector).toEqual(objects[0].spec.selector);
    const [container] = objects[0].spec.template.spec.containers;
    expect(container.volumeMounts).toContainEqual({ name: "objects", mountPath: "/data" });
    for (const { name, value } of container.env) {
      if (/_DIR$|_SIDECAR$/.test(name)) expect(container.args[0]).toMatch(new RegExp(`mkdir .*${value}\\b`));
    }
  });
  it("are the versions that docker-compose.yml has", () => {
    const [compose] = readYaml("docker-compose.yml");
    for (const [name, path] of [
      ["nats", "k8s/components/nats/nats.yaml"],
      ["postgres", "k8s/components/postgres-dev/postgres.yaml"],
      ["store", "k8s/components/store-dev/store.yaml"],
    ] as const) {
      expect(readYaml(path)[0].spec.template.spec.containers[0].image).toBe(compose.services[name].image);
    }
  });
  it("are admitted only by whom they serve, and production brings its own", () => {
    for (const [path, label] of [
      ["k8s/components/nats/nats.yaml", "uses-bus"],
      ["k8s/components/postgres-dev/postgres.yaml", "uses-database"],
      ["k8s/components/store-dev/store.yaml", "uses-store"],
    ] as const) {
      const [policy] = kinds(readYaml(path), "NetworkPolicy");
      expect(policy.spec.ingress[0].from).toEqual([{ podSelector: { matchLabels: { [label]: "true" } } }]);
    }
    expect(readYaml("k8s/overlays/production/kustomization.yaml")[0]).not.toHaveProperty("components");
  });
});

describe("production's TRUST_PROXY", () => {
  const secret = (name: string) => createHash("sha256").update(name).digest("hex");
  const settings = {
    ...literalsOf("k8s/base/kustomization.yaml"),
    ...literalsOf("k8s/overlays/production/kustomization.yaml"),
    // Of the backups' process alone.
    S3_ENDPOINT: "",
    S3_BUCKET: "",
    S3_RETENTION_DAYS: "",
    SERVICES: "api-gateway",
    NATS_URL: "nats://records:password-of-tests@nats:4222",
    JWT_SECRET: secret("jwt"),
    BOOT_SECRET: secret("boot"),
  };

  it("is a placeholder, with which nothing starts", () => {
    const start = () => readConfig(settings);
    expect(start).toThrow(ConfigError);
    expect(start).toThrow(/^TRUST_PROXY must be filled in with IP addresses or subnets [^\n]*$/);
  });
  it("is all that must be filled for the settings to be right", () => {
    expect(readConfig({ ...settings, TRUST_PROXY: "10.4.0.7,10.4.1.0/28" })).toMatchObject({
      production: true,
      trustedProxies: ["10.4.0.7", "10.4.1.0/28"],
    });
  });
  it("is told of in docs/deploy.md", () => {
    expect(readFileSync(join(root, "docs/deploy.md"), "utf8")).toMatch(/`TRUST_PROXY`[^.]*placeholder/);
  });
});

it("docs/deploy.md creates the Secrets with the keys that pods cannot start without", () => {
  const docs = readFileSync(join(root, "docs/deploy.md"), "utf8");
  const required = yamlFilesUnder("k8s")
    .flatMap(readYaml)
    .flatMap(({ spec }) => spec?.template?.spec?.containers?.[0].env ?? [])
    .flatMap(({ valueFrom }: Tree) => valueFrom?.secretKeyRef ?? [])
    .filter(({ optional }: Tree) => optional !== true);
  expect(required.length).toBeGreaterThan(0);
  for (const { name, key } of required) {
    // By the shell function `secret`; a command goes on after a backslash at a line's end.
    const creating = new RegExp(`^secret ${name} (?:[^\\n]|\\\\\\n)*?--from-literal=${key}=`, "m");
    expect(docs).toMatch(creating);
  }
});

describe("the component for traces", () => {
  const { objects, settings } = written("k8s/components/tracing");
  it("has settings that there are, and that are taken", () => {
    expect(Object.keys(settings).filter((name) => !isSetting(name))).toEqual([]);
    expect(readConfig({ ...settings })).toMatchObject({ otelSamplerRatio: 0.1, otelServiceName: "records" });
  });
  it("opens the collector's port to our pods, and nothing else", () => {
    expect(objects.map(({ kind }) => kind)).toEqual(["NetworkPolicy"]);
    const [{ spec }] = objects as [Tree];
    expect(spec.policyTypes).toEqual(["Egress"]);
    expect(spec.podSelector.matchLabels).toEqual({ "app.kubernetes.io/name": "records" });
    const port = Number(URL.parse(settings["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? "")?.port);
    expect(spec.egress).toEqual([{ to: [expect.anything()], ports: [{ protocol: "TCP", port }] }]);
  });
});
