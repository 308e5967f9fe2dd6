// What an operator's command is. Everything about it stands in one entry of the table (commands/table.ts): from it come the
// REPL's commands, their completion and help, the command line with its exit codes, and the table in docs/operate.md.
import type { ServiceBroker } from "moleculer";
import type { Actions } from "../services/shared/bus/bus.ts";
import { compileParams } from "../services/shared/params/compile.ts";
import type { Failure, Fields, ParamsOf } from "../services/shared/params/types.ts";
import { Misuse } from "./failures.ts";
import type { Session } from "./session.ts";

type ActionName = keyof Actions;

/** What is asked before something is destroyed. */
export interface Warning {
  /** A sentence, and what else is worth knowing, a line each. */
  lines: readonly string[];
  /** What has to be typed. */
  word: string;
}

export interface Facts<F extends Fields> {
  /** One word or two: `block`, `backup create`. */
  name: string;
  /** What it does, in one sentence. */
  does: string;
  /** The actions that it calls. */
  calls: readonly ActionName[];
  /** Its arguments, checked before anything is called. */
  fields: F;
  /** Those that stand by their place, without their name; the last one may be a list. */
  places?: readonly (keyof F & string)[];
  /** Absent: it only reads. */
  changes?: true | ((params: ParamsOf<{ query: F }>) => boolean);
  /** The action by which something is gone for good or hidden, and what is to be typed before. */
  destroys?: ActionName;
  warning?: (session: Session, params: ParamsOf<{ query: F }>) => Promise<Warning>;
  /** Columns of its table for people; absent: all. */
  columns?: readonly string[];
  /** Whether an answer says that what was wished for did not come about. */
  failed?: (answer: unknown) => boolean;
  /** The services with which the program can do it by itself, where none is running. */
  aloneWith?: readonly string[];
  run: (session: Session, params: ParamsOf<{ query: F }>) => Promise<unknown>;
}

/** A command with its arguments, ready to be run. */
export interface Prepared {
  /** Whether it changes something, as far as that is known: of an action's name it is once the service is joined. */
  changes(broker?: ServiceBroker): boolean;
  warning: ((session: Session) => Promise<Warning>) | undefined;
  run(session: Session): Promise<unknown>;
}

export interface Command extends Omit<Facts<Fields>, "changes" | "warning" | "run"> {
  places: readonly string[];
  /** Of its help: whether it ever changes something. */
  mayChange: boolean;
  /** What else is typed behind it goes to it as it is. */
  takesAll?: true;
  /** @throws Misuse naming what is wrong */
  prepare(given: Readonly<Record<string, unknown>>): Prepared;
}

/** An entry of the table. */
export function command<const F extends Fields>(facts: Facts<F>): Command {
  const { changes, warning, run, places = [], ...rest } = facts;
  return {
    ...rest,
    places,
    mayChange: changes !== undefined,
    prepare(given) {
      // Compiled when it is used: of some fifty commands one is typed.
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
