// The habits that keep the structure: who may import whom, how large files grow, which names they bear, and that every
// action has somebody who calls it.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { contracts, routes } from "../../services/api-gateway/routes.ts";

const root = resolve(import.meta.dirname, "../..");

interface Source {
  path: string;
  text: string;
  imports: string[];
}

function sourcesUnder(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => {
      const path = join(folder, file);
      const text = readFileSync(join(root, path), "utf8");
      const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(
        (found) => found[1] ?? "",
      );
      const imports = specifiers.map((specifier) => relative(root, resolve(root, dirname(path), specifier)));
      return { path, text, imports };
    });
}

const services = sourcesUnder("services");
const mixins = sourcesUnder("mixins");
const migrations = sourcesUnder("migrations");
const product = [...services, ...mixins, ...migrations];
const names = (sources: { path: string }[]) => sources.map(({ path }) => path);

/** "services/users/x.ts" → "users"; files directly under services/ start the process and know nobody. */
const folderOf = (path: string) => /^services\/([\w-]+)\//.exec(path)?.[1];

describe("imports", () => {
  it("no service imports another; only the gateway and the operators' commands read their contracts", () => {
    const crossings = services.flatMap(({ path, imports }) => {
      const own = folderOf(path);
      if (own === undefined || own === "shared") return [];
      return imports
        .filter((to) => {
          const other = folderOf(to);
          if (other === undefined || other === own || other === "shared") return false;
          return !(["api-gateway", "operators"].includes(own) && to.endsWith(".contract.ts"));
        })
        .map((to) => `${path} → ${to}`);
    });
    expect(crossings).toEqual([]);
  });
  it("what is shared imports no service", () => {
    const crossings = [...services.filter(({ path }) => folderOf(path) === "shared"), ...mixins].flatMap(
      ({ path, imports }) =>
        imports.filter((to) => !["shared", undefined].includes(folderOf(to))).map((to) => `${path} → ${to}`),
    );
    expect(crossings).toEqual([]);
  });
  it("the embedded server stands by itself: a copy of its folder runs from anywhere", () => {
    const folder = "services/shared/embedded/";
    const crossings = services
      .filter(({ path }) => path.startsWith(folder))
      .flatMap(({ path, imports }) =>
        imports.filter((to) => !to.startsWith(folder)).map((to) => `${path} → ${to}`),
      );
    expect(crossings).toEqual([]);
  });
  it("what is shared uses Moleculer for its errors, types and hooks only, and defines no service", () => {
    const schemas = services.filter(
      ({ path, text }) => folderOf(path) === "shared" && /createService|ServiceBroker\(/.test(text),
    );
    expect(names(schemas)).toEqual([]);
  });
  it("pure rules know no database, clock, bus or file", () => {
    const impure = services.filter(
      ({ path, text }) =>
        path.endsWith(".rules.ts") && /Date\.now|new Date\(\)|node:fs|database|ctx\b|\bthis\./.test(text),
    );
    expect(names(impure)).toEqual([]);
  });
  it("only the database folder, the embedded server and the probes speak to the driver", () => {
    const speakers = product
      .filter(({ text }) => /^import (?!type\b).*from "pg"/m.test(text))
      .filter(({ path }) => !/shared\/(?:database|embedded|health)/.test(path));
    expect(names(speakers)).toEqual([]);
  });
  it("nothing reads the environment but the settings and the start", () => {
    const readers = product.filter(({ text }) => text.includes("process.env"));
    expect(names(readers).sort()).toEqual([
      "services/cli.ts",
      "services/main.ts",
      "services/migrate.ts",
      "services/psql.ts",
      "services/repl.ts",
      "services/restore.ts",
      "services/rewrap.ts",
      "services/roles.ts",
      "services/shared/config.ts",
    ]);
  });
});

describe("files", () => {
  it.each(product.map((source) => [source.path, source] as const))(
    "%s opens with what it holds and stays small",
    (_path, { text }) => {
      expect(text).toMatch(/^(?:\/\/|\/\*\*)/);
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
      const called = services.some(
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
    if (!seen) sources.get(path)?.imports.forEach(visit);
  };
  // What package.json and the parts of the bench start by themselves.
  const programs = names([...sources.values()]).filter((path) =>
    /^test\/(?:bench|panels|mutants)\/(?!.*\.test\.ts$)/.test(path),
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
