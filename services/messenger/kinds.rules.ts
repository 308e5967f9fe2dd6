// Which kinds of events a role may receive: those about objects that the role may read in the service. All
// roles may receive events of patients and records; the user's department decides for each event which
// patients.
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

/** @param kind the event's kind */
export function maySee(role: Role, kind: string): boolean {
  const subjects = subjectsOf[role];
  return subjects === "all" || subjects.includes(kind.split(".", 1)[0] ?? "");
}

/** Whether the patient also decides about the delivery: see migrations/0014/may-be-told.ts. */
export function isOfPatient(kind: string): boolean {
  return kind.startsWith("patient.") || kind.startsWith("record.");
}

/**
 * The kinds that the role receives out of those subscribed to. A star stands for all that the role may see.
 */
export function deliveredKinds(role: Role, subscribed: readonly string[]): string[] {
  if (!subscribed.includes("*")) return subscribed.filter((kind) => maySee(role, kind));
  return subjectsOf[role] === "all" ? ["*"] : eventKinds.filter((kind) => maySee(role, kind));
}

/** The kinds that were named but that the role may not see. */
export function refusedKinds(role: Role, named: readonly (EventKind | "*")[]): string[] {
  return named.filter((kind) => kind !== "*" && !maySee(role, kind));
}
