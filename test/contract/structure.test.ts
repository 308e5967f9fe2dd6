// The habits that keep the structure: who may import whom, how large files grow, which names they bear, and that every
// action has somebody who calls it.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { contracts, routes } from "../../services/api-gateway/routes.ts";

const root = resolve(import.meta.dirname, "../..");

interface Import {
  to: string;
  /** Only types cross, so nothing is loaded. */
  isType: boolean;
}

interface Source {
  path: string;
  text: string;
  imports: Import[];
}

const importing = /(?:(?:import|export)\s+(type\s)?[^;"']*?from|import\s*\(?)\s*"(\.[^"]+)"/g;

function sourcesUnder(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => {
      const path = join(folder, file);
      const text = readFileSync(join(root, path), "utf8");
      const imports = [...text.matchAll(importing)].map(([, type, specifier = ""]) => ({
        to: relative(root, resolve(root, dirname(path), specifier)),
        isType: type !== undefined,
      }));
      return { path, text, imports };
    });
}

const services = sourcesUnder("services");
const mixins = sourcesUnder("mixins");
const host = sourcesUnder("host");
const operators = sourcesUnder("operators");
const migrations = sourcesUnder("migrations");
const product = [...services, ...mixins, ...host, ...operators, ...migrations];
const names = (sources: { path: string }[]) => sources.map(({ path }) => path);

/** "services/users/x.ts" is in "services/users", "mixins/jobs/x.ts" in "mixins". */
function roomOf(path: string): string {
  const [first = "", second = ""] = path.split("/");
  return first === "services" ? `services/${second}` : first;
}
const isService = (room: string) => room.startsWith("services/") && room !== "services/shared";

/** Imports of others that `allowed` does not let pass, as "from → to". */
function crossings(
  sources: readonly Source[],
  allowed: (to: string, from: string, isType: boolean) => boolean,
): string[] {
  return sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ to }) => roomOf(to) !== roomOf(path))
      .filter(({ to, isType }) => !allowed(to, path, isType))
      .map(({ to }) => `${path} → ${to}`),
  );
}

const isShared = (to: string) => roomOf(to) === "services/shared";
const isContract = (to: string) => to.endsWith(".contract.ts");

describe("imports", () => {
  it("a service imports what is shared, mixins and migrations' names; of its process only types", () => {
    const all = services.filter(({ path }) => isService(roomOf(path)));
    const found = crossings(
      all,
      (to, from, isType) =>
        isShared(to) ||
        roomOf(to) === "mixins" ||
        to === "migrations/all.ts" ||
        (isType && roomOf(to) === "host") ||
        (roomOf(from) === "services/api-gateway" && isContract(to)),
    );
    expect(found).toEqual([]);
  });
  it("what is shared imports nothing but migrations' names, and types of the process", () => {
    const all = services.filter(({ path }) => isShared(path));
    const found = crossings(
      all,
      (to, _from, isType) => (isType && roomOf(to) === "host") || to === "migrations/all.ts",
    );
    expect(found).toEqual([]);
  });
  it("mixins import what is shared, and types of the process", () => {
    expect(
      crossings(mixins, (to, _from, isType) => isShared(to) || (isType && roomOf(to) === "host")),
    ).toEqual([]);
  });
  it("the process knows no service but by its file's name; a program may do one service's work", () => {
    const programs: Record<string, readonly string[]> = {
      "host/main.ts": ["operators"],
      "host/restore.ts": ["services/backups", "operators"],
    };
    const found = crossings(
      host,
      (to, from) =>
        isShared(to) ||
        ["mixins", "migrations"].includes(roomOf(to)) ||
        to === "moleculer.config.ts" ||
        (programs[from]?.includes(roomOf(to)) ?? false),
    );
    expect(found).toEqual([]);
  });
  it("operators' commands read contracts, and start a node as the process does", () => {
    const found = crossings(
      operators,
      (to) =>
        isShared(to) ||
        ["host", "mixins"].includes(roomOf(to)) ||
        to === "moleculer.config.ts" ||
        isContract(to) ||
        to === "services/api-gateway/routes.ts",
    );
    expect(found).toEqual([]);
  });
  it("the embedded server stands by itself: its folder and two files run from anywhere", () => {
    const found = crossings(
      host.filter(({ path }) => path.startsWith("host/embedded/")),
      (to) => ["services/shared/start-error.ts", "services/shared/make-folder.ts"].includes(to),
    );
    const inside = host
      .filter(({ path }) => path.startsWith("host/embedded/"))
      .flatMap(({ imports }) => imports.filter(({ to }) => roomOf(to) === "host"))
      .filter(({ to }) => !to.startsWith("host/embedded/"));
    expect([...found, ...inside]).toEqual([]);
  });
  it("what is shared uses Moleculer for its errors, types and hooks only, and defines no service", () => {
    const schemas = services.filter(
      ({ path, text }) => isShared(path) && /createService|ServiceBroker\(/.test(text),
    );
    expect(names(schemas)).toEqual([]);
  });
  it("pure rules know no database, clock, bus or file", () => {
    const impure = product.filter(
      ({ path, text }) =>
        path.endsWith(".rules.ts") && /Date\.now|new Date\(\)|node:fs|database|ctx\b|\bthis\./.test(text),
    );
    expect(names(impure)).toEqual([]);
  });
  it("only the database's two folders, the embedded server and the probes speak to the driver", () => {
    const speakers = product
      .filter(({ text }) => /^import (?!type\b).*from "pg"/m.test(text))
      .filter(({ path }) => !/^(?:services\/shared\/database|host\/(?:database|embedded))\//.test(path));
    expect(names(speakers)).toEqual(["host/process/health-probes.ts"]);
  });
  it("nothing reads the environment but the settings and the start", () => {
    const readers = product.filter(({ text }) => text.includes("process.env"));
    expect(names(readers).sort()).toEqual([
      "host/main.ts",
      "host/migrate.ts",
      "host/psql.ts",
      "host/restore.ts",
      "host/rewrap.ts",
      "host/roles.ts",
      "host/settings/config.ts",
      "operators/cli.ts",
      "operators/repl.ts",
    ]);
  });
});

describe("rooms", () => {
  it("the largest is at most a sixth of the code", () => {
    const lines = new Map<string, number>();
    for (const { path, text } of product)
      lines.set(roomOf(path), (lines.get(roomOf(path)) ?? 0) + text.split("\n").length);
    const all = [...lines.values()].reduce((sum, each) => sum + each, 0);
    const large = [...lines].filter(([, each]) => each > all / 6);
    expect(large).toEqual([]);
  });
});

describe("files", () => {
  it.each(product.map((source) => [source.path, source] as const))(
    "%s opens with what it holds and stays small",
    (path, { text }) => {
      expect(text).toMatch(/^(?:\/\/|\/\*\*)/);
      // What `npm run tables` writes is as long as the schema.
      if (path !== "services/shared/database/tables.ts")
        expect(text.split("\n").length).toBeLessThanOrEqual(221);
    },
  );
  it("the median file is short", () => {
    const lengths = product.map(({ text }) => text.split("\n").length).sort((a, b) => a - b);
    expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThanOrEqual(80);
  });
  it("names are kebab-case with a role suffix, and none is a bag of things", () => {
    const odd = product.filter(
      ({ path }) => !/^[a-z0-9]+(?:[-.][a-z0-9]+)*\.ts$/.test(path.split("/").at(-1) ?? ""),
    );
    const bags = product.filter(({ path }) =>
      /\b(?:utils?|helpers?|managers?|data|info|common|misc)\.ts$/.test(path),
    );
    expect(names([...odd, ...bags])).toEqual([]);
  });
  it("only service schemas are default exports, and no file is a barrel", () => {
    const defaults = product.filter(
      ({ text, path }) => /^export default/m.test(text) && !path.endsWith(".service.ts"),
    );
    const barrels = product.filter(
      ({ path, text }) => path.endsWith("/index.ts") || /^export \* from/m.test(text),
    );
    expect(names([...defaults, ...barrels])).toEqual([]);
  });
  it("no loose type stands without its reason on the line above or beside it", () => {
    const loose = product.flatMap(({ path, text }) => {
      const lines = text.split("\n");
      return lines.flatMap((line, at) => {
        if (!/\bas unknown as\b|: any\b|<any>|@ts-(?:ignore|expect-error)/.test(line)) return [];
        const around = lines.slice(Math.max(0, at - 4), at + 1).join("\n");
        return /\/\/|\*/.test(around) ? [] : [`${path}:${at + 1}`];
      });
    });
    expect(loose).toEqual([]);
  });
});

describe("actions", () => {
  const routed = new Set<string>(routes.map(({ action }) => action));
  it.each(Object.keys(contracts).map((name) => [name] as const))(
    "%s is offered for a route, a caller or an operator",
    (name) => {
      // Named as a call's first argument, or as callAs's third.
      const called = product.some(
        ({ path, text }) =>
          !path.endsWith(".contract.ts") &&
          new RegExp(`(?:\\(|,)\\s*"${name.replace(".", "\\.")}",`).test(text),
      );
      const forOperators = [
        "users.restore",
        "users.list_deleted",
        "tenants.list_deleted",
        "patients.list_deleted",
        "tenants.restore",
        "patients.restore",
        "crypto.destroy_key",
        "backups.make",
      ].includes(name);
      expect(routed.has(name) || called || forOperators).toBe(true);
    },
  );
  it("may run twice only where it reads: what runs late must not undo what came after it", () => {
    const reads = routes.filter(({ method }) => method === "GET").map(({ action }) => action);
    const repeatable = Object.entries(contracts).flatMap(([name, contract]) =>
      "repeatable" in contract ? [name] : [],
    );
    // A link is good once, and each download holds one of the places there are.
    const once = ["backups.use_ticket", "backups.download"];
    const inner = [
      "accounts.recipient",
      "auth.authenticate",
      "auth.authenticate_all",
      "auth.check_password",
      "auth.live_sessions",
      "auth.recognise",
      "cache.take",
      // Makes keys where there are none, under the tenant's lock: a second run finds them.
      "crypto.keys",
      "crypto.open_archive_key",
      "mail.check",
      "mail.delivers",
      "messenger.check",
      "patients.list_deleted",
      "patients.seal_for_cache",
      "tenants.find",
      "tenants.list_deleted",
      "users.list_deleted",
    ];
    const expected = [...new Set<string>([...reads, ...inner])].filter((name) => !once.includes(name));
    expect(repeatable.sort()).toEqual(expected.sort());
  });
  it("every contract of a service folder is in the gateway's table of contracts", () => {
    const declared = services.flatMap(({ path, text }) =>
      path.endsWith(".contract.ts")
        ? [...text.matchAll(/^ {2}"([a-z_-]+\.[a-z_]+)": \{/gm)].map((found) => found[1] ?? "")
        : [],
    );
    expect(declared.sort()).toEqual(Object.keys(contracts).sort());
  });
});

it("programs of the tests run outside jest: nothing they reach asks for its globals", () => {
  const sources = new Map([...product, ...sourcesUnder("test")].map((source) => [source.path, source]));
  const reached = new Set<string>();
  const visit = (path: string) => {
    const seen = reached.has(path);
    reached.add(path);
    if (!seen) sources.get(path)?.imports.forEach(({ to }) => visit(to));
  };
  // What package.json and the parts of the bench start by themselves.
  const programs = names([...sources.values()]).filter((path) =>
    /^test\/(?:bench|support\/mutants)\/(?!.*\.test\.ts$)/.test(path),
  );
  expect(programs.length).toBeGreaterThan(30);
  programs.forEach(visit);
  const asking = [...reached].filter((path) => sources.get(path)?.text.includes('from "@jest/globals"'));
  expect(asking).toEqual([]);
});

it("the test files known to wait are there", () => {
  const waiting = Object.keys(
    JSON.parse(readFileSync(join(root, "test/support/waiting-files.json"), "utf8")),
  );
  expect(waiting.filter((name) => !existsSync(join(root, "test", `${name}.test.ts`)))).toEqual([]);
});

it("no test ends early, and passes unseen, without its reason on the line above", () => {
  const silent = sourcesUnder("test")
    .filter(({ path }) => path.endsWith(".test.ts"))
    .flatMap(({ path, text }) => {
      const lines = text.split("\n");
      return lines.flatMap((line, at) =>
        /^\s*if \(.*\) return;/.test(line) && !/^\s*\/\//.test(lines[at - 1] ?? "")
          ? [`${path}:${at + 1}`]
          : [],
      );
    });
  expect(silent).toEqual([]);
});
