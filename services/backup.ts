// `npm run backup -- create|list|status|plan|restore|delete`: backups from the command line, for operators and for a CronJob.
// The process does the work itself, on the database and the store of the service, which may be running or not; only an
// embedded database has one user at a time. Audited under the account's name; --json for programs; 0, or 1 when it failed.
import { parseArgs } from "node:util";
import { ServiceBroker } from "moleculer";
import { assemble } from "../moleculer.config.ts";
import { runBackupCommand, usage } from "./backup-commands.ts";
import backups from "./backups/backups.service.ts";
import crypto from "./crypto/crypto.service.ts";
import { fail } from "./fail.ts";
import { readConfig } from "./shared/config.ts";
import { StartError } from "./shared/embedded/start-error.ts";
import { exposedFacts } from "./shared/errors.ts";

const options = {
  tenant: { type: "string" },
  yes: { type: "boolean" },
  json: { type: "boolean" },
} as const;

async function backup(env: NodeJS.ProcessEnv, args: string[]): Promise<void> {
  const { positionals, values } = parseArgs({ args, allowPositionals: true, options });
  const [what, id, ...more] = positionals;
  const tenant = values.tenant === undefined ? undefined : Number(values.tenant);
  if (what === undefined || more.length > 0 || (tenant !== undefined && !Number.isSafeInteger(tenant)))
    throw new StartError(usage);
  // By itself: no other node waits for what this one offers for some seconds.
  const config = {
    ...readConfig(env),
    natsUrls: undefined,
    healthPort: undefined,
    metricsPort: undefined,
    logLevel: "error" as const,
  };
  const {
    options: brokerOptions,
    runtime,
    flushLog,
  } = assemble(config, (reason) => fail(new StartError(reason)));
  const broker = new ServiceBroker(brokerOptions);
  broker.createService(crypto);
  broker.createService(backups);
  try {
    await broker.start();
    const wish = { what, id, tenant, yes: values.yes, json: values.json };
    const done = await runBackupCommand(broker, wish, (line) => process.stdout.write(`${line}\n`));
    if (!done) process.exitCode = 1;
  } finally {
    await broker.stop();
    await runtime.close();
    flushLog();
  }
}

/** What the service refuses with is one sentence. */
function asSentence(error: unknown): unknown {
  return error instanceof Error && exposedFacts(error) !== undefined
    ? new StartError(`${error.message}.`)
    : error;
}

await backup(process.env, process.argv.slice(2)).catch((error: unknown) => fail(asSentence(error)));
