// `npm run repl`: Moleculer's REPL beside a running service, embedded or one of a cluster's processes (by its DATA_DIR).
import { fail } from "./fail.ts";
import { joinProcess } from "./repl/join.ts";
import { openShell } from "./repl/shell.ts";
import { readConfig } from "./shared/config.ts";

async function repl({ DATA_DIR }: NodeJS.ProcessEnv): Promise<void> {
  const { dataDir } = readConfig(DATA_DIR === undefined ? {} : { DATA_DIR });
  const broker = await joinProcess(dataDir, () => {
    // Leaving ends the connection too.
    if (!broker.started) return;
    process.stderr.write("\nThe service has ended.\n");
    process.exit(1);
  });
  process.stdout.write(
    "What you change here is audited under your name. TAB completes, `help` lists, Ctrl-D leaves.\n",
  );
  openShell(broker);
}

await repl(process.env).catch((error: unknown) => fail(error));
