// The caller for a person at a terminal: an operator at the REPL or the command line, with a name. Only this file makes such a
// caller.
import { userInfo } from "node:os";
import { Caller } from "./caller.ts";

export const operatorNameForm = /^[\w.@-]{1,64}$/;
/** Commands that only read may be used without a name. */
const unnamed = "operator";
/** The account of our image. Everybody who enters a pod has it, so it identifies nobody. */
const sharedAccount = "records";

/** @returns the name of this process's account; undefined if it has none, or one that identifies nobody */
export function accountName(): string | undefined {
  try {
    const { username } = userInfo();
    return operatorNameForm.test(username) && username !== sharedAccount ? username : undefined;
  } catch {
    // A user id without an entry in /etc/passwd, as some clusters assign to pods.
    return undefined;
  }
}

/** @param name of the person, as stated by the terminal's side */
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
