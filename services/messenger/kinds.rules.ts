// Which kinds of events a role may be told of: what it may look at in the service itself. Events of patients and records
// are for every role, as everybody's work is with them; which patients, the user's department decides, event by event.
import { type EventKind, eventKinds } from "../shared/event-kinds.ts";
import type { Role } from "../shared/roles.ts";

const subjectsOf: Record<Role, readonly string[] | "all"> = {
  superadmin: "all",
  admin: "all",
  head_doctor: ["patient", "record", "user", "department"],
  doctor: ["patient", "record"],
  nurse: ["patient", "record"],
  registrar: ["patient", "record"],
};

/** @param kind as an event bears it */
export function maySee(role: Role, kind: string): boolean {
  const subjects = subjectsOf[role];
  return subjects === "all" || subjects.includes(kind.split(".", 1)[0] ?? "");
}

/** Whether it also depends on the patient whether a chat is told: see migrations/0014/may-be-told.ts. */
export function isOfPatient(kind: string): boolean {
  return kind.startsWith("patient.") || kind.startsWith("record.");
}

/** What of the asked kinds the role is told: a star becomes all that it may see. */
export function toldKinds(role: Role, asked: readonly string[]): string[] {
  if (!asked.includes("*")) return asked.filter((kind) => maySee(role, kind));
  return subjectsOf[role] === "all" ? ["*"] : eventKinds.filter((kind) => maySee(role, kind));
}

/** Those that are named and not to be seen. */
export function refusedKinds(role: Role, asked: readonly (EventKind | "*")[]): string[] {
  return asked.filter((kind) => kind !== "*" && !maySee(role, kind));
}
