// The definition of an operators' command. Each command is one entry of the table (commands/table.ts). The REPL's commands, their
// completion and help, the command line with its exit codes, and the table in docs/operate.md are all made from it.
import type { ServiceBroker } from "moleculer";
import type { Actions } from "../services/shared/bus/bus.ts";
import { compileParams } from "../services/shared/params/compile.ts";
import type { Failure, Fields, ParamsOf } from "../services/shared/params/types.ts";
import { Misuse } from "./failures.ts";
import type { Session } from "./session.ts";

type ActionName = keyof Actions;

/** The question before something is destroyed. */
export interface Warning {
  /** A sentence, and further facts, one per line. */
  lines: readonly string[];
  /** The word that must be typed to confirm. */
  word: string;
}

export interface CommandDefinition<F extends Fields> {
  /** One or two words: `block`, `backup create`. */
  name: string;
  /** Its purpose in one sentence. */
  does: string;
  /** The actions that it calls. */
  calls: readonly ActionName[];
  /** Its arguments; they are checked before anything is called. */
  fields: F;
  /** Positional arguments; the last one may be a list. */
  places?: readonly (keyof F & string)[];
  /** Absent: the command only reads. */
  changes?: true | ((params: ParamsOf<{ query: F }>) => boolean);
  /** The action that deletes or hides something; the command then asks for confirmation. */
  destroys?: ActionName;
  warning?: (session: Session, params: ParamsOf<{ query: F }>) => Promise<Warning>;
  /** Columns of its table for people; absent: all. */
  columns?: readonly string[];
  /** Whether an answer means that the command did not succeed. */
  failed?: (answer: unknown) => boolean;
  /** The services that the program needs to run the command by itself, without a running service. */
  aloneWith?: readonly string[];
  run: (session: Session, params: ParamsOf<{ query: F }>) => Promise<unknown>;
}

/** A command with its arguments, ready to be run. */
export interface Prepared {
  /** Whether it changes something. For `call` this is known only after the connection to the service. */
  changes(broker?: ServiceBroker): boolean;
  warning: ((session: Session) => Promise<Warning>) | undefined;
  run(session: Session): Promise<unknown>;
}

export interface Command extends Omit<CommandDefinition<Fields>, "changes" | "warning" | "run"> {
  places: readonly string[];
  /** Whether it can change something; for its help. */
  mayChange: boolean;
  /** Whether everything typed after its name is passed on unchanged. */
  takesAll?: true;
  /** @throws Misuse that names the fault */
  prepare(given: Readonly<Record<string, unknown>>): Prepared;
}

/** Makes an entry of the table. */
export function command<const F extends Fields>(facts: CommandDefinition<F>): Command {
  const { changes, warning, run, places = [], ...rest } = facts;
  return {
    ...rest,
    places,
    mayChange: changes !== undefined,
    prepare(given) {
      // Compiled at its use: of some fifty commands one is typed.
      const checked = compileParams({ query: facts.fields })(given);
      if (!("params" in checked)) throw new Misuse(faultsOf(facts.name, checked));
      const { params } = checked;
      return {
        changes: () => (typeof changes === "function" ? changes(params) : changes === true),
        warning: warning === undefined ? undefined : (session) => warning(session, params),
        run: (session) => run(session, params),
      };
    },
  };
}

function faultsOf(name: string, checked: { notFound: string } | { failures: readonly Failure[] }): string {
  const failures =
    "failures" in checked ? checked.failures : [{ loc: ["query", checked.notFound], msg: "No such id" }];
  const each = failures.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`);
  return `${name}: ${each.join("; ")}. \`${name} --help\` says more.`;
}
