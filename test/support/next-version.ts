// Later versions of the program, as copies of this checkout with migrations of their own and a higher number: so that two
// versions can run beside each other on any machine, without the history of the repository.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { copyCheckout } from "./checkout.ts";
import { type RunningProcess, runProcess } from "./service.ts";

export interface NextMigration {
  /** Four digits and a word, "9001-next". */
  name: string;
  since: string;
  oldest: string;
  sql: string;
}

export interface Version {
  /** The program of this version, "host/start.ts" for example. */
  run(env: Record<string, string>, program?: string): RunningProcess;
}

export const thisVersion: Version = { run: (env, program) => runProcess(env, program) };

/** @param folder is made; it stands until the test removes it */
export async function nextVersion(
  folder: string,
  version: string,
  migrations: readonly NextMigration[],
): Promise<Version> {
  await copyCheckout(folder);
  const edit = async (path: string, change: (text: string) => string) => {
    const text = await readFile(join(folder, path), "utf8");
    const changed = change(text);
    if (changed === text) throw new Error(`${path} is not as it was: nothing could be put into it`);
    await writeFile(join(folder, path), changed);
  };
  await edit("package.json", (text) => text.replace(/"version": "[^"]+"/, `"version": "${version}"`));
  for (const { name, sql } of migrations)
    await writeFile(
      join(folder, "migrations", `${name}.ts`),
      `import { Migration } from "@mikro-orm/migrations";
export class Next extends Migration {
  override up(): void { this.addSql(${JSON.stringify(sql)}); }
}\n`,
    );
  const imports = migrations.map(({ name }, nth) => `import { Next as Next${nth} } from "./${name}.ts";\n`);
  const entries = migrations.map(
    ({ name, since, oldest }, nth) =>
      `  { name: "${name}", class: Next${nth}, since: "${since}", oldest: "${oldest}" },\n`,
  );
  await edit(
    "migrations/all.ts",
    (text) => imports.join("") + text.replace(/\n\];\s*$/, `\n${entries.join("")}];\n`),
  );
  const steps = migrations.map(({ name }) => `  "${name}": [],\n`);
  await edit("services/backups/archive-schema.ts", (text) =>
    text.replace(/(schemaSteps[^{]*\{\n[\s\S]*?)\n\};/, `$1\n${steps.join("")}};`),
  );
  return { run: (env, program = "host/start.ts") => runProcess(env, join(folder, program)) };
}
