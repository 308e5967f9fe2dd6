// Translates the declared rights of services into the grants of a login and its platform role.
import { furtherRolesOf, type Login, rightsOf } from "../logins.ts";
import { atStart, everyLogin, type Privileges } from "./rights.ts";

export interface Grant {
  role: string;
  on: "table" | "sequence" | "function" | "schema";
  object: string;
  /** "": the whole object. */
  column: string;
  privilege: string;
}

/** @returns a text that is equal for equal grants */
export const keyOf = ({ role, on, object, column, privilege }: Grant): string =>
  [role, on, object, column, privilege].join("|");

const schemas: ReadonlySet<string> = new Set(["public", "graphile_worker", "staging"]);

/** @throws Error for a text that is not in the form of `Privileges` */
export function grantsIn(role: string, privileges: Privileges): Grant[] {
  return Object.entries(privileges).flatMap(([object, words]) =>
    privilegesIn(words).flatMap(({ privilege, columns }) => {
      const on = kindOf(object, privilege);
      return columns.map((column) => ({ role, on, object, column, privilege }));
    }),
  );
}

function kindOf(object: string, privilege: string): Grant["on"] {
  if (privilege === "execute") return "function";
  if (schemas.has(object)) return "schema";
  return privilege === "usage" || object.endsWith("_seq") ? "sequence" : "table";
}

const one = /^\s*([a-z]+)\s*(?:\(([a-z_,\s]+)\)\s*)?(?:,|$)/;

function privilegesIn(words: string): { privilege: string; columns: string[] }[] {
  const found: { privilege: string; columns: string[] }[] = [];
  for (let rest = words; rest !== ""; ) {
    const [text = "", privilege = "", columns] = one.exec(rest) ?? [];
    if (text === "") throw new Error(`not a list of privileges: ${rest}`);
    found.push({ privilege, columns: columns?.split(",").map((each) => each.trim()) ?? [""] });
    rest = rest.slice(text.length);
  }
  return found;
}

/** @returns all grants that a login and its further roles should have */
export function grantsFor(login: Login): Grant[] {
  const { name, platformRole, services } = login;
  const rights = rightsOf(services);
  const own = [everyLogin, atStart, ...rights.map(({ tenant }) => tenant)];
  const above = [everyLogin, ...rights.map(({ platform = {} }) => platform)];
  return merged([
    ...own.flatMap((privileges) => grantsIn(name, privileges)),
    ...furtherRolesOf(login).flatMap(({ role, privileges }) => grantsIn(role, privileges)),
    ...(platformRole === undefined ? [] : above.flatMap((privileges) => grantsIn(platformRole, privileges))),
  ]);
}

/** @returns the wanted grants that are missing, both for the column and for the whole object */
export function lacking(actual: readonly Grant[], wanted: readonly Grant[]): Grant[] {
  const has = new Set(actual.map(keyOf));
  return wanted.filter((grant) => !has.has(keyOf(grant)) && !has.has(keyOf({ ...grant, column: "" })));
}

/** Removes duplicates, and columns of objects that are granted as a whole. */
function merged(grants: readonly Grant[]): Grant[] {
  const byKey = new Map(grants.map((grant) => [keyOf(grant), grant]));
  return [...byKey.values()].filter(
    (grant) => grant.column === "" || !byKey.has(keyOf({ ...grant, column: "" })),
  );
}

/** @returns statements that change the actual grants into the wanted ones; one per role, object and privilege */
export function statementsBetween(actual: readonly Grant[], wanted: readonly Grant[]): string[] {
  const [has, needs] = [new Set(actual.map(keyOf)), new Set(wanted.map(keyOf))];
  const extra = actual.filter((grant) => !needs.has(keyOf(grant)));
  const missing = wanted.filter((grant) => !has.has(keyOf(grant)));
  return [...statements("revoke", "from", extra), ...statements("grant", "to", missing)];
}

function statements(verb: string, preposition: string, grants: readonly Grant[]): string[] {
  const groups = Map.groupBy(grants, ({ role, on, object }) => [role, on, object].join("|"));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { role, on, object } = first;
    const name = object.split(".").map(quoted).join(".");
    const privileges = [...Map.groupBy(group, ({ privilege }) => privilege)].flatMap(([privilege, each]) =>
      partsOf(privilege, each),
    );
    const holder = role === "public" ? "public" : quoted(role);
    return [`${verb} ${privileges.join(", ")} on ${on} ${name} ${preposition} ${holder}`];
  });
}

function partsOf(privilege: string, grants: readonly Grant[]): string[] {
  const columns = grants.flatMap(({ column }) => (column === "" ? [] : [quoted(column)]));
  return [
    ...(columns.length < grants.length ? [privilege] : []),
    ...(columns.length === 0 ? [] : [`${privilege} (${columns.join(", ")})`]),
  ];
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
