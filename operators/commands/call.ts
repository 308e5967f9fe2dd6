// `call`: any action by its name. It is held to what holds for the commands: changes need a name, destruction a confirmation.
import type { ServiceBroker } from "moleculer";
import { actionList } from "../action-list.ts";
import type { Command } from "../command.ts";
import { Misuse, Unreached } from "../failures.ts";
import { readTyped, type Typed } from "../words.ts";

type Kinds = Readonly<Record<string, string>>;

export interface KnownAction {
  name: string;
  /** Of each parameter, a word. */
  kinds: Kinds;
  /** It only reads. */
  repeatable: boolean;
}

/** Undefined where no node that is known offers it. */
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

/** Deleting has one name in all services; what else destroys is said by the commands. */
const removes = /\.(?:remove|unlink|destroy_\w+)$/;

/** @param destroying actions of the commands that destroy */
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
      // The reader of a line gives all that stands behind the name as it was typed.
      const typed = words as readonly string[];
      const [action = ""] = typed;
      if (action === "" || action.startsWith("-"))
        throw new Misuse("call: name an action, `call users.list --tenant_id 2`.");
      const asksHelp = typed.includes("--help");
      const destroys = !asksHelp && (destroying.has(action) || removes.test(action));
      return {
        // Nothing is known of the action before the service is joined.
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

function read(words: readonly string[], kinds: Kinds): Typed {
  try {
    return readTyped(words, kinds);
  } catch (error) {
    if (error instanceof SyntaxError) throw new Misuse(`call: ${error.message}.`);
    throw error;
  }
}
