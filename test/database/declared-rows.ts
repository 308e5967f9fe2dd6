// What types the code gives to the rows of its statements, call by call, as TypeScript's own checker resolves them, with the
// statement where its text is fixed.
import { join, relative } from "node:path";
import type { CallExpression, Node } from "typescript/unstable/ast";
import {
  isCallExpression,
  isFunctionDeclaration,
  isIdentifier,
  isObjectLiteralExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isPropertySignatureDeclaration,
  isReturnStatement,
  isShorthandPropertyAssignment,
} from "typescript/unstable/ast/is";
import {
  API,
  type Checker,
  type Project,
  type Symbol,
  SymbolFlags,
  type Type,
  TypeFlags,
} from "typescript/unstable/sync";
import { declarationOf, fixedText, valueOf } from "./fixed-text.ts";

export type Kind = "string" | "number" | "boolean" | "null" | "Buffer" | "Date" | "array" | "object" | "any";

interface DeclaredColumn {
  name: string;
  kinds: readonly Kind[];
  isOptional: boolean;
  /** Its type comes from the tables' types, or from a contract, which gives it to the client as it is. */
  origin: "table" | "contract" | "hand";
}

export interface DeclaredRow {
  /** "services/users/list-users.ts:32". */
  site: string;
  /** undefined: put together at run time. */
  text: string | undefined;
  /** One row of several shapes: the columns are those of all of them. */
  isUnion: boolean;
  columns: DeclaredColumn[];
}

/** Those of `Database`, `Change`, `Bulk` and the driver; the last argument is the statement, or the first its text. */
const methods = new Map([
  ["read", -1],
  ["readOne", -1],
  ["write", -1],
  ["writeOne", -1],
  ["execute", 0],
  ["one", 0],
  ["query", 0],
]);
const rooms = ["services", "mixins", "host", "operators"];

/** Of all calls that say of what type their rows are, in the code under `root`. */
export function declaredRows(root: string): DeclaredRow[] {
  const api = new API({ cwd: root });
  try {
    const config = join(root, "tsconfig.json");
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config);
    if (project === undefined) throw new Error(`${config} cannot be read`);
    return project.program
      .getSourceFileNames()
      .filter((file) => rooms.some((room) => file.startsWith(join(root, room, "/"))))
      .flatMap((file) => rowsOf(project, file, relative(root, file)));
  } finally {
    api.close();
  }
}

function rowsOf({ program, checker }: Project, file: string, name: string): DeclaredRow[] {
  const source = program.getSourceFile(file);
  if (source === undefined) throw new Error(`${file} is not in the project`);
  const rows: DeclaredRow[] = [];
  const visit = (node: Node): void => {
    node.forEachChild(visit);
    if (!isCallExpression(node) || !isPropertyAccessExpression(node.expression)) return;
    const method = node.expression.name;
    const place = methods.get(method.text);
    const argument = node.typeArguments?.[0];
    if (argument === undefined || place === undefined) return;
    const type = checker.getTypeAtLocation(argument);
    if (type === undefined) throw new Error(`${name}: ${argument.getText(source)} has no type`);
    const columns = checker.getPropertiesOfType(type).map((symbol) => columnOf(checker, symbol));
    // A method that passes its own type parameter on.
    if (columns.length === 0) return;
    const { line } = source.getLineAndCharacterOfPosition(method.getStart(source));
    const text = fixedText(checker, textOf(checker, node, place));
    rows.push({ site: `${name}:${line + 1}`, text, isUnion: type.isUnionType(), columns });
  };
  visit(source);
  return rows;
}

/** The expression that is the statement's text. */
function textOf(checker: Checker, call: CallExpression, place: number): Node | undefined {
  const argument = call.arguments.at(place);
  const given = place === -1 ? statementOf(checker, argument) : argument;
  if (given === undefined || !isObjectLiteralExpression(given)) return given;
  for (const property of given.properties) {
    if (isPropertyAssignment(property) && property.name.getText() === "text") return property.initializer;
    if (isShorthandPropertyAssignment(property) && property.name.getText() === "text")
      return valueOf(checker, checker.getShorthandAssignmentValueSymbol(property));
  }
  return undefined;
}

/** The object itself where a constant holds it, or a function that does nothing but answer it. */
function statementOf(checker: Checker, argument: Node | undefined): Node | undefined {
  if (argument === undefined) return undefined;
  if (isIdentifier(argument)) return valueOf(checker, checker.getSymbolAtLocation(argument));
  if (!isCallExpression(argument) || !isIdentifier(argument.expression)) return argument;
  const made = declarationOf(checker, checker.getSymbolAtLocation(argument.expression));
  const [only, ...more] =
    made !== undefined && isFunctionDeclaration(made) ? (made.body?.statements ?? []) : [];
  return only !== undefined && more.length === 0 && isReturnStatement(only) ? only.expression : argument;
}

function columnOf(checker: Checker, symbol: Symbol): DeclaredColumn {
  const type = checker.getTypeOfSymbol(symbol);
  if (type === undefined) throw new Error(`${symbol.name} has no type`);
  const members = type.isUnionType() ? (type.getTypes() ?? []) : [type];
  return {
    name: symbol.name,
    kinds: [...new Set(members.map((member) => kindOf(checker, member)))],
    isOptional: (symbol.flags & SymbolFlags.Optional) !== 0,
    origin: originOf(symbol),
  };
}

function originOf({ declarations }: Symbol): DeclaredColumn["origin"] {
  const isOfTable = declarations.some(
    (each) =>
      each.path.endsWith("services/shared/database/tables.ts") ||
      /\bColumn</.test(each.resolve()?.getText() ?? ""),
  );
  if (isOfTable) return "table";
  // What is made of a contract's rules is written nowhere as a type.
  const isWritten = declarations.some((each) => {
    const node = each.resolve();
    return node !== undefined && isPropertySignatureDeclaration(node) && !each.path.endsWith(".contract.ts");
  });
  return isWritten ? "hand" : "contract";
}

const flagKinds: readonly [number, Kind][] = [
  [TypeFlags.StringLike, "string"],
  [TypeFlags.NumberLike, "number"],
  [TypeFlags.BooleanLike, "boolean"],
  [TypeFlags.Nullable, "null"],
];

function kindOf(checker: Checker, type: Type): Kind {
  const known = flagKinds.find(([flag]) => (type.flags & flag) !== 0)?.[1];
  if (known !== undefined) return known;
  if ((type.flags & TypeFlags.AnyOrUnknown) !== 0) return "any";
  if (checker.isArrayLikeType(type)) return "array";
  const name = type.getSymbol()?.name;
  return name === "Buffer" || name === "Date" ? name : "object";
}
