// The Helm chart: the same parts as kustomize's base, complete with whatever values, and refused with a sentence where it
// would not work.
import { describe, expect, it } from "@jest/globals";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chart, kubernetesVersions, runHelm } from "../../charts/rendered.ts";
import { openSettings, schema, writtenManifests, writtenSchema } from "../../charts/written.ts";
import { readConfig } from "../../host/settings/config.ts";
import { defaultLogins, kindFor } from "../../host/database/logins.ts";
import { describeWithHelm } from "../support/describe-with-helm.ts";
import { image, isSecret, isSetting, readYaml, root, serviceFolders, type Tree } from "./deployment-files.ts";
import {
  componentOf,
  containerOf,
  environmentOf,
  examples,
  needed,
  podOf,
  render,
  servicesOf,
  valueSets,
} from "./rendered-chart.ts";

const [table] = readYaml("charts/records/files/services.yaml");
const [defaults] = readYaml("charts/records/values.yaml");
const services: [string, Tree][] = Object.entries(table.services);

describe("the chart's table of services", () => {
  it("has every service folder, and groups them as docker-compose.yml does", () => {
    expect(Object.keys(table.services)).toEqual(serviceFolders);
    const [compose] = readYaml("docker-compose.yml");
    for (const [name, group] of Object.entries<Tree>(table.groups))
      expect(compose.services[name].environment.SERVICES).toBe(group.services.join(","));
    const grouped = Object.values<Tree>(table.groups).flatMap((group) => group.services);
    expect(grouped.sort()).toEqual(serviceFolders);
  });
  it("knows the group of each service, whose database login is one that there is", () => {
    for (const [name, { group }] of services) {
      const found = defaultLogins.find(({ kind, services: of }) => kind !== "login" && of.includes(name));
      expect([name, group]).toEqual([name, found?.kind]);
      if (group !== undefined) expect(table.groups[group].services).toEqual(found?.services);
    }
  });
  it("names settings that are secrets, of Secrets that the values name", () => {
    for (const { name, of } of services.flatMap(([, { secrets = [] }]) => secrets)) {
      expect({ name, secret: isSecret(name) }).toEqual({ name, secret: true });
      expect(Object.keys(defaults.secrets)).toContain(of);
    }
  });
  it("has the version of the program", () => {
    const [about] = readYaml("charts/records/Chart.yaml");
    expect([about.version, about.appVersion].map((each) => `records-service:${each}`)).toEqual([
      image,
      image,
    ]);
  });
});

describe("the schema of its values", () => {
  it("allows the settings that there are, but neither secrets nor what the chart works out", () => {
    expect(readFileSync(join(root, schema), "utf8")).toBe(writtenSchema());
    for (const name of openSettings())
      expect([name, isSetting(name), isSecret(name)]).toEqual([name, true, false]);
    expect(openSettings()).toEqual(
      expect.arrayContaining(["PUBLIC_URL", "TRUST_PROXY", "REQUEST_TIMEOUT_MS"]),
    );
    expect(openSettings()).not.toContain("JWT_SECRET");
  });
  it("knows every value, and no other", () => {
    const tree = JSON.parse(readFileSync(join(root, schema), "utf8"));
    const compare = (values: Tree, properties: Tree) => {
      for (const [name, value] of Object.entries<Tree>(values)) {
        expect(Object.keys(properties)).toContain(name);
        if (properties[name].properties !== undefined) compare(value, properties[name].properties);
      }
    };
    compare(defaults, tree.properties);
    const known = Object.keys(tree.properties).filter((name) => name !== "global");
    expect(known.sort()).toEqual(Object.keys(defaults).sort());
    expect(tree.$defs.process.properties.services.items.enum).toEqual(serviceFolders);
  });
});

const secretOf = (key: string): string => {
  const random = createHash("sha256").update(key).digest("hex");
  if (key === "NATS_URL") return `tls://records:${random.slice(0, 16)}@nats:4222`;
  return key === "DATABASE_URL" ? `postgresql://owner:${random}@postgres:5432/records` : random;
};

describeWithHelm("the chart", () => {
  it("is what k8s/base and the components are written from (npm run manifests)", () => {
    for (const [path, text] of Object.entries(writtenManifests()))
      expect({ path, text: readFileSync(join(root, path), "utf8") }).toEqual({ path, text });
  });
  it("has the settings of k8s/base", () => {
    const generated = readYaml("k8s/base/kustomization.yaml")[0].configMapGenerator;
    const { of } = render({ valueFiles: ["charts/kustomize.values.yaml"], release: "kustomize" });
    for (const { name, literals } of generated) {
      const map = of("ConfigMap").find(({ metadata }) => metadata.name === name);
      const { HOST: _production, PUBLIC_URL: _overlays, ...data } = map.data;
      expect(literals.map((each: string) => each.split("="))).toEqual(
        expect.arrayContaining(Object.entries(data)),
      );
      expect(Object.keys(data)).toHaveLength(literals.length);
    }
  });
  it.each(kubernetesVersions)(
    "passes helm lint for Kubernetes %s, with each of its value sets",
    (version) => {
      for (const values of valueSets) {
        const said = runHelm([
          "lint",
          chart,
          "--strict",
          "--kube-version",
          version,
          "--values",
          join(root, values),
        ]);
        expect(said).toContain("1 chart(s) linted, 0 chart(s) failed");
        expect(said).not.toMatch(/\[(?:WARNING|ERROR)\]/);
      }
    },
  );

  describe.each(["", ...valueSets])("with the values %s", (values) => {
    const release = render(values === "" ? { set: needed } : { valueFiles: [values] });
    const { deployments, of } = release;

    it("runs every service in at least one Deployment", () => {
      expect([...new Set(deployments.flatMap(servicesOf))].sort()).toEqual(serviceFolders);
    });
    it("gives each process an environment with which it starts, and no secret that it does not use", () => {
      for (const each of deployments) {
        const environment = environmentOf(each, release, secretOf);
        expect(Object.keys(environment).filter((name) => name !== "HOME" && !isSetting(name))).toEqual([]);
        // The files are there in the pod only.
        const { NATS_CERT_FILE, NATS_KEY_FILE, NATS_CA_FILE, S3_CA_FILE, ...rest } = environment;
        const config = readConfig(rest);
        expect(config).toMatchObject({ production: true, services: servicesOf(each) });
        const mounted = containerOf(each).volumeMounts.map(({ mountPath }: Tree) => mountPath);
        for (const file of [NATS_CERT_FILE, NATS_KEY_FILE, NATS_CA_FILE, S3_CA_FILE])
          if (file !== undefined) expect(mounted).toContain(file.replace(/\/[^/]*$/, ""));
        const runs = (service: string) => servicesOf(each).includes(service);
        expect(rest["JWT_SECRET"] !== undefined).toBe(runs("auth"));
        expect(rest["BOOT_SECRET"] !== undefined).toBe(runs("crypto"));
        expect(rest["ADMIN_PASSWORD"] !== undefined).toBe(runs("users"));
        expect(rest["S3_SECRET_KEY"] !== undefined).toBe(runs("backups"));
        // One with rights beyond that is refused in production.
        const needs = servicesOf(each).filter((service) => service !== "api-gateway");
        const login = kindFor(config.databaseLogins, config.services);
        expect(login?.services.toSorted()).toEqual(needs.length === 0 ? expect.anything() : needs);
        if (login !== undefined && needs.length > 0)
          expect(config.databasePasswords).toHaveProperty(login.kind);
        expect(rest["DATABASE_URL"]).toBeUndefined();
        expect(rest["DATABASE_APP_URL"] === undefined).toBe(servicesOf(each).join() === "api-gateway");
      }
    });
    it("migrates before the pods come, with the owner's login, and uses no object of the release", () => {
      const [job] = of("Job");
      expect(job.metadata.annotations["helm.sh/hook"]).toBe("pre-install,pre-upgrade");
      expect(containerOf(job)).toMatchObject({ command: ["node", "host/migrate.ts"] });
      const environment = environmentOf(job, release, secretOf);
      expect(environment["DATABASE_URL"]).toMatch(/^postgresql:/);
      const passwords = deployments.flatMap((each) =>
        Object.keys(environmentOf(each, release, secretOf)).filter((name) =>
          name.startsWith("DATABASE_PASSWORD_"),
        ),
      );
      expect(Object.keys(environment)).toEqual(expect.arrayContaining(passwords));
      expect(containerOf(job).envFrom).toBeUndefined();
      const made = of("ConfigMap", "ServiceAccount", "Secret").map(({ metadata }) => metadata.name);
      expect(made.filter((name) => JSON.stringify(podOf(job)).includes(`"${name}"`))).toEqual([]);
    });
    it("holds pods to the restricted standard, each image to one version", () => {
      for (const each of [...deployments, ...of("Job")]) {
        const { securityContext, automountServiceAccountToken } = podOf(each);
        expect(securityContext).toMatchObject({
          runAsNonRoot: true,
          seccompProfile: { type: "RuntimeDefault" },
        });
        expect(automountServiceAccountToken).toBe(false);
        expect(containerOf(each)).toMatchObject({
          image: expect.stringMatching(/^[\w./-]+(?::\d+\.\d+\.\d+|@sha256:[0-9a-f]{64})$/),
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          },
          resources: { requests: { memory: expect.any(String) }, limits: { memory: expect.any(String) } },
        });
      }
    });
    it("opens the network to those that use it, and selects pods that are there", () => {
      const labels = [...deployments, ...of("Job")].map(({ spec }) => spec.template.metadata.labels);
      const selectors = [
        ...of("Service").map(({ spec }) => spec.selector),
        ...of("PodDisruptionBudget").map(({ spec }) => spec.selector.matchLabels),
        ...of("NetworkPolicy").map(({ spec }) => spec.podSelector.matchLabels),
      ];
      for (const selector of selectors) expect(labels).toContainEqual(expect.objectContaining(selector));
      for (const each of deployments) {
        const { labels: own } = each.spec.template.metadata;
        expect(own["uses-database"]).toBe(servicesOf(each).join() === "api-gateway" ? undefined : "true");
        expect(own["uses-internet"] === "true").toBe(/messenger|webhooks/.test(servicesOf(each).join()));
        expect(own["serves-clients"] === "true").toBe(servicesOf(each).includes("api-gateway"));
      }
    });
    it("lets a drain wait for the others where there are several, and for nobody that is not ready", () => {
      const budgets = of("PodDisruptionBudget");
      for (const { spec } of budgets) expect(spec.unhealthyPodEvictionPolicy).toBe("AlwaysAllow");
      const several = deployments.filter(({ spec }) => (spec.replicas ?? 2) > 1).map(componentOf);
      expect(
        budgets.map(({ spec }) => spec.selector.matchLabels["app.kubernetes.io/component"]).sort(),
      ).toEqual(several.sort());
    });
  });

  it("gives each service a Deployment of its own with layout: services", () => {
    const { deployments } = render({ set: [...needed, "layout=services"] });
    expect(deployments.map((each) => servicesOf(each).join())).toEqual(serviceFolders);
    expect(deployments.map(componentOf)).toEqual(serviceFolders);
  });
  it("mentions each value set in the documentation", () => {
    const docs = readFileSync(join(root, "docs/deploy.md"), "utf8");
    const names = valueSets.map((values) => values.slice(examples.length + 1));
    expect(names.filter((name) => !docs.includes(name))).toEqual([]);
  });

  it.each([
    [
      /at '\/settings': additional properties 'PUBLIC_ULR' not allowed/,
      "settings.PUBLIC_ULR=https://a.example",
    ],
    [/at '\/settings': additional properties 'JWT_SECRET' not allowed/, "settings.JWT_SECRET=x"],
    [/at '\/settings': additional properties 'PORT' not allowed/, "settings.PORT=80"],
    [/additional properties 'replica' not allowed/, "processes.gateway.replica=3"],
    [/at '\/image\/tag'/, "image.tag=latest"],
    [/at '\/layout'/, "layout=both"],
    [/at '\/processes\/accounts\/services/, "processes.accounts.services={auth,tenant}"],
    [/at '\/database\/url'/, "database.url=postgresql://me:word@postgres/records"],
    [/the service crypto runs in no Deployment/, "processes.crypto.enabled=false"],
    [
      /the service users runs in no Deployment/,
      "processes.accounts.services={auth,tenants},processes.accounts.login=some",
    ],
    [
      /accounts runs other services than the group accounts: its database login/,
      "processes.accounts.services={auth,tenants}",
    ],
    [/processes\.auth is none of this layout's \(accounts, backups/, "processes.auth.replicas=3"],
    [/store\.endpoint must be set: pods keep no backups/, "store.endpoint="],
    [/database\.url must be set/, "database.url="],
    [/settings\.PUBLIC_URL must be set/, "settings.PUBLIC_URL="],
    [/bus\.certificateSecret must name a Secret/, "bus.auth=certificate"],
    [/httpRoute\.parentRefs must name a Gateway/, "httpRoute.enabled=true"],
    [/ingress\.host must be set/, "ingress.enabled=true"],
  ])("refuses with %s", (sentence, value) => {
    expect(() => render({ set: [...needed, value] })).toThrow(sentence);
  });
});
