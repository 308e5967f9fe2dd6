// moleculer-web answers 200 when the method it should authenticate with is missing. Here nothing is asked of it: access
// stands in the contract of every action, and what states none is refused to everyone.
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { ServiceBroker } from "moleculer";
import { assemble } from "../../moleculer.config.ts";
import { contractOf, contracts, routes } from "../../services/api-gateway/routes.ts";
import { assertAccess } from "../../services/shared/access.ts";
import { Caller } from "../../services/shared/caller.ts";
import { readConfig } from "../../host/settings/config.ts";
import type { RecordsAction } from "../../services/shared/bus/schemas.ts";
import { addressOf, callApi, runProcess, testSettings } from "../support/service.ts";

const root = join(import.meta.dirname, "../..");
const serviceFiles = readdirSync(join(root, "services"), { recursive: true, encoding: "utf8" }).filter(
  (file) => file.endsWith(".service.ts"),
);
const settings = testSettings({ url: "postgres://nowhere/records", folder: "/nowhere" });

describe("by the program's text", () => {
  it("every action of every service that the bus can reach states its access", async () => {
    const { options } = assemble(readConfig({ ...settings, LOG_LEVEL: "silent" }), () => {});
    const broker = new ServiceBroker({ ...options, logger: false });
    for (const file of serviceFiles)
      broker.createService((await import(join(root, "services", file))).default);
    const reachable = broker.services.flatMap(({ name, schema }) =>
      Object.entries((schema.actions ?? {}) as Record<string, RecordsAction | false>).flatMap(
        ([action, spec]) =>
          spec === false || spec.visibility === "private"
            ? []
            : [{ name: `${name}.${action}`, access: spec.access }],
      ),
    );
    expect(reachable.length).toBeGreaterThan(30);
    expect(reachable.filter(({ access }) => access?.who === undefined)).toEqual([]);
  });

  it("every route's contract states its access, and it is one of the four there are", () => {
    for (const route of routes) {
      expect(["public", "signed-in", "roles"]).toContain(contractOf(route).access.who);
    }
  });

  it("the public ones are the nine of the interface, the completion of a reset, a backup's link and the messenger's own", () => {
    const open = routes.filter((route) => contractOf(route).access.who === "public").map(({ path }) => path);
    expect(open.sort()).toEqual([
      "/api/auth/departments",
      "/api/auth/login",
      "/api/auth/register",
      "/api/auth/request-reset",
      "/api/auth/resend-verification",
      "/api/auth/reset-password",
      "/api/auth/tenants",
      "/api/auth/verify-email",
      // The ticket in it is the right to the one download.
      "/api/backup-download/{ticket}",
      "/webhooks/card-provider",
      "/webhooks/telegram",
      "/webhooks/wallet-provider",
    ]);
  });

  it("keys, hashes, tokens and what they protect are given to these services and no others", () => {
    const given = Object.entries(contracts).flatMap(([name, { access }]) =>
      /^(?:crypto|accounts|auth|patients)\./.test(name) && access.who === "services"
        ? [`${name}: ${[...access.services].sort().join(", ")}`]
        : [],
    );
    expect(given.sort()).toEqual([
      "accounts.mint_mail_token: mail",
      "accounts.recipient: mail",
      "accounts.renew_hash: auth",
      "auth.authenticate: api-gateway",
      "auth.authenticate_all: api-gateway",
      "auth.check_password: accounts, users",
      "auth.clear_lockout: accounts, users",
      "auth.live_sessions: bus",
      "auth.recognise: accounts",
      "auth.remember_origin: accounts",
      "crypto.close_archive_key: backups",
      "crypto.drop_archive_key: backups",
      "crypto.keys: patients, webhooks",
      "crypto.make_archive_key: backups",
      "crypto.open_archive_key: backups",
      "patients.seal_for_cache: cache",
    ]);
  });

  it("nothing leans on moleculer-web's switches, on a cacher, or on a broker's cache of answers", () => {
    const files = ["services", "mixins", "host", "operators"].flatMap((room) =>
      readdirSync(join(root, room), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".ts"))
        .map((file) => join(room, file)),
    );
    for (const file of [...files, "moleculer.config.ts"]) {
      // Comments may say these words.
      const text = readFileSync(join(root, file), "utf8").replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, "");
      expect([
        file,
        /\b(?:authentication|authorization|cacher|rateLimit|autoAliases|cache): (?!ServiceRights)/.exec(text),
      ]).toEqual([file, null]);
    }
  });
});

describe("by its behaviour", () => {
  const system = Caller.system("test");
  it("no stated access is no access, for the service itself too", () => {
    expect(() => assertAccess(undefined, system)).toThrow("Not enough permissions");
  });

  it("no caller is no access, even to what is public", () => {
    expect(() => assertAccess({ who: "public" }, undefined)).toThrow("Not enough permissions");
  });

  it("a gateway whose services are all away answers 503 to everything, never 200 and never 404", async () => {
    const folder = await mkdtemp(join(tmpdir(), "records-test-"));
    const running = runProcess({
      SERVICES: "api-gateway",
      PORT: "0",
      DATA_DIR: folder,
      DEMO_MODE: "false",
    });
    try {
      const url = await addressOf(running);
      for (const route of routes) {
        const path = route.path.replaceAll(/\{\w+\}/g, "1");
        const isPublic = contractOf(route).access.who === "public";
        const body = isPublic ? bodies[route.path] : undefined;
        const query =
          { "/api/auth/departments": "?subdomain=demo", "/api/auth/verify-email": "?token=x" }[path] ?? "";
        const answer = await callApi(url, route.method, path + query, {
          token: "a.b.c",
          ...(body && { body }),
        });
        expect([route.path, answer.status, answer.body]).toEqual([
          route.path,
          503,
          { detail: expect.any(String), code: "unavailable" },
        ]);
        expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
        const anonymous = await callApi(url, route.method, path + query, { ...(body && { body }) });
        expect([route.path, isPublic, anonymous.status]).toEqual([route.path, isPublic, 503]);
      }
    } finally {
      await running.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });

  const account = { email: "a@people.example", subdomain: "demo" };
  const bodies: Readonly<Record<string, object>> = {
    "/api/auth/login": { ...account, password: "Some-Word-1" },
    "/api/auth/register": { ...account, password: "Some-Word-1", full_name: "A Person", role: "nurse" },
    "/api/auth/request-reset": account,
    "/api/auth/resend-verification": account,
    "/api/auth/reset-password": { token: "x", new_password: "Some-Word-1" },
  };
});
