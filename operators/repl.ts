// `npm run repl`: the operators' commands at a prompt, beside a running service. It connects to the process on DATA_DIR or, if
// NATS_URL is set, to the cluster.
import { Misuse } from "./failures.ts";
import { joinService, operatorName } from "./join.ts";
import { readProgramOptions } from "./program-options.ts";
import { failed } from "./run-request.ts";
import { openShell } from "./shell.ts";

const err = (text: string) => void process.stderr.write(`${text}\n`);

async function repl(env: NodeJS.ProcessEnv, args: readonly string[]): Promise<void> {
  const { as, alone, words } = readProgramOptions(args);
  if (alone || words.length > 0)
    throw new Misuse("Use: npm run repl [-- --as <name>]; one command alone is `npm run cli -- <command>`.");
  const operator = operatorName(env, as);
  const joined = await joinService({
    env,
    operator,
    alone: undefined,
    onEnd() {
      err("\nThe service has ended.");
      process.exit(1);
    },
  });
  const audited =
    operator === undefined
      ? "You have no name here: look at what you like, and start with --as <name> to change something."
      : `What you change here is audited under the name ${operator}.`;
  process.stdout.write(`${audited} TAB completes, \`help\` lists, Ctrl-D leaves.\n`);
  openShell(joined);
}

await repl(process.env, process.argv.slice(2)).catch((error: unknown) => {
  process.exit(failed(error, { err }, false));
});
