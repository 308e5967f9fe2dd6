// Clients that others' generators make of the description: made, compiled, and used for an administration day.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { demoPassword, people, startService, type TestService } from "../../support/service.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");
const modules = join(root, "node_modules");
/** openapi-generator-cli.jar, of Maven's artefact org.openapitools:openapi-generator-cli. */
const jar = process.env.OPENAPI_GENERATOR_JAR;
const hasJar = jar !== undefined && existsSync(jar);
const stepMsMax = 120_000;

let service: TestService;
let folder: string;
beforeAll(async () => {
  service = await startService();
  folder = await mkdtemp(join(tmpdir(), "records-clients-"));
  await symlink(modules, join(folder, "node_modules"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const description = await fetch(`${service.url}/openapi.json`);
  await writeFile(join(folder, "openapi.json"), await description.text());
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** @returns what it printed; what it complained about is the error's */
async function execute(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(program, args, { cwd: folder, timeout: stepMsMax }).catch(
    (error: { stdout: string; stderr: string }) => {
      throw new Error(`${program} ${args.join(" ")}\n${error.stdout}\n${error.stderr}`);
    },
  );
  return stdout;
}

async function compile(files: readonly string[], options: object): Promise<void> {
  const compilerOptions = {
    target: "es2024",
    module: "nodenext",
    strict: true,
    skipLibCheck: true,
    types: ["node"],
    ...options,
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  await execute(process.execPath, [join(modules, "typescript/bin/tsc"), "-p", "tsconfig.json"]);
}

const [email, subdomain] = people.admin;
const day = (program: string) =>
  execute(process.execPath, [program, service.url, email, demoPassword, subdomain]);

describe("openapi-typescript, used through openapi-fetch", () => {
  it("compiles, and does an administration day", async () => {
    const generator = join(modules, "openapi-typescript/bin/cli.js");
    await execute(process.execPath, [generator, "openapi.json", "-o", "schema.d.ts"]);
    await cp(join(import.meta.dirname, "clients/openapi-fetch-day.ts"), join(folder, "openapi-fetch-day.ts"));
    await compile(["openapi-fetch-day.ts"], { noEmit: true, allowImportingTsExtensions: true });
    expect(await day("openapi-fetch-day.ts")).toBe("the day is done\n");
  }, 300_000);
});

const withJar = hasJar ? describe : describe.skip;
withJar("openapi-generator's typescript-fetch (needs Java, and its jar in OPENAPI_GENERATOR_JAR)", () => {
  it("compiles, and does an administration day", async () => {
    const options = [
      "-g",
      "typescript-fetch",
      "-o",
      "client",
      "--additional-properties=importFileExtension=.js",
    ];
    await execute("java", ["-jar", jar ?? "", "generate", "-i", "openapi.json", ...options]);
    const program = "typescript-fetch-day.ts";
    await cp(join(import.meta.dirname, "clients", program), join(folder, program));
    await compile([program], { outDir: "built", lib: ["es2024", "dom"] });
    expect(await day("built/typescript-fetch-day.js")).toBe("the day is done\n");
  }, 300_000);
});
