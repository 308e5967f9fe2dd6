// The regular expressions of the product, read out of its syntax trees: every literal, and every place where one is made
// while the program runs, which no linter can judge.
import { readdirSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join, resolve } from "node:path";
import { type Node, parse } from "acorn";

const root = resolve(import.meta.dirname, "../..");
const folders = ["services", "mixins", "host", "operators", "migrations"];

interface Pattern {
  source: string;
  flags: string;
  /** "services/x.ts:12" */
  place: string;
}

export interface Found {
  literals: Pattern[];
  /** `new RegExp(text)`, `text.match("pattern")` and the like. */
  made: string[];
}

/** @returns the patterns of all files that run in the service or in its pages */
export function patternsOfTheProduct(): Found {
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.[jt]s$/.test(file))
      .map((file) => join(folder, file)),
  );
  const found: Found = { literals: [], made: [] };
  for (const file of ["moleculer.config.ts", ...files]) {
    const { literals, made } = patternsIn(readFileSync(join(root, file), "utf8"), file);
    found.literals.push(...literals);
    found.made.push(...made);
  }
  return found;
}

/** @param path decides the language; it also names the places */
export function patternsIn(text: string, path: string): Found {
  const script = path.endsWith(".ts") ? stripTypeScriptTypes(text, { mode: "strip" }) : text;
  const tree = parse(script, { ecmaVersion: "latest", sourceType: "module", locations: true });
  const found: Found = { literals: [], made: [] };
  walk(tree, (node) => {
    const place = `${path}:${node.loc?.start.line}`;
    if (node.type === "Literal" && node.regex !== undefined)
      found.literals.push({ source: node.regex.pattern, flags: node.regex.flags, place });
    if (makesPattern(node)) found.made.push(place);
  });
  return found;
}

// What the walk looks at of acorn's many kinds of node.
interface AnyNode extends Node {
  regex?: { pattern: string; flags: string };
  callee?: AnyNode & { name?: string; property?: { name?: string } };
  arguments?: AnyNode[];
}

const takesPattern = new Set(["match", "matchAll", "search"]);

/** RegExp called by name, or a method that makes a pattern of a text. */
function makesPattern({ type, callee, arguments: given = [] }: AnyNode): boolean {
  if (type !== "NewExpression" && type !== "CallExpression") return false;
  if (callee?.name === "RegExp") return true;
  const [first] = given;
  const isText =
    first?.type === "TemplateLiteral" || (first?.type === "Literal" && first.regex === undefined);
  return isText && takesPattern.has(callee?.property?.name ?? "");
}

/** The trees are as deep as the program is nested. */
function walk(node: unknown, visit: (node: AnyNode) => void): void {
  if (Array.isArray(node)) for (const each of node) walk(each, visit);
  else if (typeof node === "object" && node !== null && "type" in node) {
    visit(node as AnyNode);
    for (const part of Object.values(node)) walk(part, visit);
  }
}
