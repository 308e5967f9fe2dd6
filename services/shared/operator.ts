// Who acts from a terminal: an operator at the REPL or the command line, by name. There is one place that makes such a caller.
import { userInfo } from "node:os";
import { Caller } from "./caller.ts";

export const operatorNameForm = /^[\w.@-]{1,64}$/;
/** Who only looks may do so without a name. */
const unnamed = "operator";
/** The account of our image: everybody who comes into a pod has it, so it names nobody. */
const sharedAccount = "records";

/** @returns the name of this process's account; undefined where it has none, or one that says nothing of the person */
export function accountName(): string | undefined {
  try {
    const { username } = userInfo();
    return operatorNameForm.test(username) && username !== sharedAccount ? username : undefined;
  } catch {
    // A user id without an entry in /etc/passwd, as some clusters give them to pods.
    return undefined;
  }
}

/** @param name of the person, as the terminal's own side says it */
export function operatorCaller(name: unknown): Caller {
  const isName = typeof name === "string" && operatorNameForm.test(name);
  return new Caller({
    principal: { kind: "operator", name: isName ? name : unnamed },
    via: "repl",
    requestId: crypto.randomUUID(),
    ip: null,
    userAgent: null,
  });
}
