// `loglevel` at the REPL: how much the processes tell in their logs, shown and changed while they run.
import type { ServiceBroker } from "moleculer";
import { logLevels } from "../shared/log-levels.ts";
import { errorLine, shown } from "./show.ts";

const usage = `loglevel [${logLevels.join("|")}] [module] [node]; module * is all of them`;
const widthDefault = 100;

interface Given {
  level?: string;
  module?: string;
  node?: string;
}

/** @returns what is to be printed; it never fails */
export async function changeLogLevel(broker: ServiceBroker, { level, module, node }: Given): Promise<string> {
  const wish = { level, module: module === "*" ? undefined : module, node };
  try {
    const answer = await broker.call<
      { items: { node: string; levels: string }[]; unanswered: string[] },
      typeof wish
    >("health.log_levels", wish);
    const table = shown(answer.items, process.stdout.columns || widthDefault);
    return answer.unanswered.length === 0
      ? table
      : `${table}\nNo answer from ${answer.unanswered.join(", ")}.`;
  } catch (error) {
    return errorLine(error);
  }
}

export const logLevelCommand = {
  command: "loglevel [level] [module] [node]",
  description: usage,
  async action(broker: ServiceBroker, given: unknown): Promise<void> {
    // Moleculer's REPL gives the parsed words, whatever its declaration says.
    process.stdout.write(`${await changeLogLevel(broker, given as Given)}\n`);
  },
};
