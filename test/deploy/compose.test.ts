// docker-compose.yml held to rules, as no engine runs it here: pinned, healthy before used, private, and configured by
// settings that exist. That its services really work together is in topology.test.ts.
import { describe, expect, it } from "@jest/globals";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  image,
  interpolate,
  pinned,
  readYaml,
  root,
  seconds,
  isSecret,
  serviceFolders,
  isSetting,
  stopSecondsMax,
  type Tree,
} from "./deployment-files.ts";

const [compose] = readYaml("docker-compose.yml");
const services: [string, Tree][] = Object.entries(compose.services);
const ours = services.filter(([, { build }]) => build !== undefined);
const running = ours.filter(([, { command }]) => command === undefined);
const quietSettings = [
  "log_min_error_statement=panic",
  "log_parameter_max_length_on_error=0",
  "log_error_verbosity=terse",
];
const others = services.filter(([, { build }]) => build === undefined);

describe.each(services)("service %s", (name, service: Tree) => {
  it("has an image of one exact version", () => expect(service.image).toMatch(pinned));
  it("has a healthcheck, unless it ends by itself", () => {
    if (name === "migrate") expect(service.healthcheck).toEqual({ disable: true });
    else {
      expect(service.healthcheck.test[0]).toBe("CMD");
      for (const word of service.healthcheck.test) expect(typeof word).toBe("string");
      expect(Object.keys(service.healthcheck)).toEqual(
        expect.arrayContaining(["interval", "timeout", "retries", "start_period"]),
      );
    }
  });
  it("waits for others until they are healthy or done", () => {
    for (const [other, { condition }] of Object.entries<Tree>(service.depends_on ?? {})) {
      expect(compose.services).toHaveProperty(other);
      expect(condition).toBe(other === "migrate" ? "service_completed_successfully" : "service_healthy");
    }
  });
  it("publishes ports on this machine alone, and only the gateway does", () => {
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
    expect(service.ports !== undefined).toBe(name === "gateway");
  });
  it("cannot gain rights, shares no network or device of the host, and mounts nothing of it", () => {
    expect(service.security_opt).toContain("no-new-privileges:true");
    for (const key of ["privileged", "network_mode", "pid", "ipc", "devices", "cap_add"]) {
      expect(service).not.toHaveProperty(key);
    }
    for (const volume of service.volumes ?? []) {
      expect(Object.keys(compose.volumes)).toContain(volume.split(":")[0]);
    }
  });
  it("names its networks, which exist", () => {
    expect(service.networks.length).toBeGreaterThan(0);
    for (const network of service.networks) expect(Object.keys(compose.networks)).toContain(network);
  });
});

describe.each(ours)("our own service %s", (_name, service: Tree) => {
  const environment: [string, string][] = Object.entries(service.environment);
  it("is the image that bears this version", () => expect(service.image).toBe(image));
  it("is set up by settings that exist", () => {
    expect(environment.map(([key]) => key).filter((key) => !isSetting(key))).toEqual([]);
  });
  it("is given texts only: YAML would turn true and 3000 into something else", () => {
    for (const [, value] of environment) expect(typeof value).toBe("string");
  });
  it("holds no secret, only references, and those it cannot do without are demanded", () => {
    for (const [key, value] of environment.filter(([each]) => isSecret(each))) {
      if (key === "DATABASE_APP_URL") expect(value).not.toMatch(/@/);
      else expect(value).toMatch(/\$\{\w+:(?:\?[^}]+|-)\}/);
    }
  });
  it("has a read-only root with a /tmp, no capability, a bound on memory, and time to stop", () => {
    expect(service).toMatchObject({ read_only: true, tmpfs: ["/tmp"], cap_drop: ["ALL"] });
    expect(service.mem_limit).toMatch(/^\d+m$/);
    expect(seconds(service.stop_grace_period)).toBeGreaterThan(stopSecondsMax(service.environment));
  });
});

describe("together", () => {
  it("every service folder is run by exactly one of them", () => {
    const run = running.flatMap(([, { environment }]) => environment.SERVICES.split(","));
    expect(run.sort()).toEqual(serviceFolders);
  });
  it("one of them seeds: tenants, users and auth are in one process", () => {
    const seeding = running.filter(([, { environment }]) =>
      ["auth", "tenants", "users"].every((each) => environment.SERVICES.split(",").includes(each)),
    );
    expect(seeding).toHaveLength(1);
    expect(seeding[0]?.[1].environment).toHaveProperty("ADMIN_PASSWORD");
  });
  it("what must be equal on all of them is", () => {
    for (const key of ["NODE_ENV", "BUS_SECRET", "NATS_URL", "PUBLIC_URL"]) {
      const values = new Set(running.map(([, { environment }]) => environment[key]));
      expect([...values]).toEqual([expect.any(String)]);
    }
  });
  it("each secret is with the processes that use it, and the gateway has that of the bus alone", () => {
    const holders = (key: string) =>
      ours.filter(([, { environment }]) => environment[key] !== undefined).map(([name]) => name);
    expect(holders("BOOT_SECRET")).toEqual(["crypto", "migrate"]);
    expect(holders("JWT_SECRET")).toEqual(["accounts"]);
    expect(holders("JWT_PREVIOUS_SECRETS")).toEqual(["accounts"]);
    expect(holders("ADMIN_PASSWORD")).toEqual(["accounts"]);
    expect(holders("AUDIT_SIGNING_KEY")).toEqual(["support"]);
    for (const kind of ["accounts", "backups", "crypto", "outbound", "support"])
      expect(holders(`DATABASE_PASSWORD_${kind.toUpperCase()}`).sort()).toEqual([kind, "migrate"].sort());
    const held = Object.keys(compose.services.gateway.environment).filter((key) => isSecret(key));
    expect(held.sort()).toEqual(["BUS_SECRET", "NATS_URL"]);
  });
  it("they listen where their healthchecks ask, and are ready before they are used", () => {
    for (const [, { environment, healthcheck }] of running) {
      expect(healthcheck.test.join(" ")).toContain(`http://127.0.0.1:${environment.HEALTH_PORT}/readyz`);
    }
  });
  it("the owner's login is with the migration alone, and the gateway cannot reach the database", () => {
    const holders = services.filter(([, { environment }]) => environment?.DATABASE_URL !== undefined);
    expect(holders.map(([name]) => name)).toEqual(["migrate"]);
    expect(compose.services.gateway.networks).not.toContain("database");
    expect(compose.services.gateway.environment).not.toHaveProperty("DATABASE_APP_URL");
  });
  it("the database's log holds no values of statements that fail", () => {
    expect(compose.services.postgres.command).toEqual(quietSettings.flatMap((setting) => ["-c", setting]));
  });
  it("the store's login is with the backups alone, and nobody else reaches it", () => {
    const holders = services.filter(([, { environment }]) => environment?.S3_SECRET_KEY !== undefined);
    expect(holders.map(([name]) => name)).toEqual(["backups"]);
    const reaching = services.filter(([, { networks }]) => networks.includes("store"));
    expect(reaching.map(([name]) => name).sort()).toEqual(["backups", "store"]);
  });
  it("the store knows the login that the backups have, and keeps everything in its volume", () => {
    const { store, backups } = compose.services;
    expect(store.environment.ROOT_ACCESS_KEY).toBe(backups.environment.S3_ACCESS_KEY);
    expect(store.environment.ROOT_SECRET_KEY).toBe(backups.environment.S3_SECRET_KEY);
    expect(store.environment.VGW_REGION).toBe(backups.environment.S3_REGION);
    expect(interpolate(backups.environment.S3_ENDPOINT, {})).toBe(
      `http://store${store.environment.VGW_PORT}`,
    );
    expect(store.volumes).toEqual(["store:/data"]);
    const [, , script] = store.entrypoint;
    const folders = [
      store.environment.VGW_VERSIONING_DIR,
      store.environment.VGW_META_SIDECAR,
      "/data/buckets",
    ];
    for (const folder of folders)
      expect(script).toMatch(new RegExp(`mkdir .*${folder}\\b.*&& exec versitygw`));
  });
  it("the bus asks for a login, the one that the services have", () => {
    const [, user, , password] = compose.services.nats.command;
    for (const [, { environment }] of running) {
      expect(environment.NATS_URL).toBe(`nats://${user}:${password}@nats:4222`);
    }
  });
  it("PostgreSQL 18 keeps its data where the volume is mounted", () => {
    expect(compose.services.postgres.image).toMatch(/^postgres:18\./);
    expect(compose.services.postgres.volumes).toEqual(["database:/var/lib/postgresql"]);
  });
  it("nothing is declared that nobody uses", () => {
    const used = services.flatMap(([, { volumes = [] }]) =>
      volumes.map((each: string) => each.split(":")[0]),
    );
    expect(Object.keys(compose.volumes).sort()).toEqual([...new Set(used)].sort());
    expect(others.map(([name]) => name).sort()).toEqual(["nats", "postgres", "store"]);
    expect(compose).not.toHaveProperty("version");
  });
  it("each variable that is demanded is explained in docs/deploy.md", () => {
    const text = readFileSync(join(root, "docker-compose.yml"), "utf8");
    const demanded = new Set([...text.matchAll(/\$\{(\w+):\?/g)].map((found) => found[1] ?? ""));
    const docs = readFileSync(join(root, "docs/deploy.md"), "utf8");
    expect([...demanded].filter((name) => !docs.includes(name))).toEqual([]);
  });
});
