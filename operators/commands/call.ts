// `call`: any action by its name. The rules of commands apply: changes need a name, and destructive actions a confirmation.
import type { ServiceBroker } from "moleculer";
import { actionList } from "../action-list.ts";
import type { Command } from "../command.ts";
import { Misuse, Unreached } from "../failures.ts";
import { parseTypedCall, type TypedCall } from "../typed-call.ts";

type Kinds = Readonly<Record<string, string>>;

export interface KnownAction {
  name: string;
  /** Short type of each parameter. */
  kinds: Kinds;
  /** Whether it only reads. */
  repeatable: boolean;
}

/** @returns undefined if no known node offers the action */
export function knownAction(broker: ServiceBroker, wanted: string): KnownAction | undefined {
  const found = actionList(broker).find(({ name }) => name === wanted);
  return (
    found && {
      name: wanted,
      kinds: found.action?.params ?? {},
      repeatable: found.action?.repeatable === true,
    }
  );
}

/** Actions that delete have these names in all services; other destructive actions are listed by the commands. */
const removes = /\.(?:remove|unlink|destroy_\w+)$/;

/** @param destroying the destructive actions of the other commands */
export function callCommand(destroying: ReadonlySet<string>): Command {
  return {
    name: "call",
    does: "Calls any action by its name, with its own parameters; `call <action> --help` shows them",
    calls: [],
    fields: {},
    places: [],
    mayChange: true,
    takesAll: true,
    prepare({ words }) {
      // The request reader passes everything after the name unchanged.
      const typed = words as readonly string[];
      const [action = ""] = typed;
      if (action === "" || action.startsWith("-"))
        throw new Misuse("call: name an action, `call users.list --tenant_id 2`.");
      const asksHelp = typed.includes("--help");
      const destroys = !asksHelp && (destroying.has(action) || removes.test(action));
      return {
        // Nothing is known of the action before the connection to the service.
        changes: (broker) =>
          broker !== undefined && !asksHelp && knownAction(broker, action)?.repeatable !== true,
        warning: destroys
          ? async () => ({ lines: [`${action} destroys what it is given.`], word: action })
          : undefined,
        async run(session) {
          const known = knownAction(session.broker, action);
          if (known === undefined) throw new Unreached(`No process offers ${action}.`);
          if (asksHelp) return helpOf(known);
          return session.callNamed(action, read(typed, known.kinds).params);
        },
      };
    },
  };
}

function helpOf({ name, kinds }: KnownAction): object {
  const parameters = Object.entries(kinds).map(([parameter, kind]) => [`--${parameter}`, kind]);
  return {
    action: name,
    ...(parameters.length === 0 ? { parameters: "none" } : Object.fromEntries(parameters)),
  };
}

function read(words: readonly string[], kinds: Kinds): TypedCall {
  try {
    return parseTypedCall(words, kinds);
  } catch (error) {
    if (error instanceof SyntaxError) throw new Misuse(`call: ${error.message}.`);
    throw error;
  }
}
