// The value of an expression of the code that is always the same text: what a statement says when it is not put together from
// what is known only at run time.
import type { Node } from "typescript/unstable/ast";
import {
  isBinaryExpression,
  isIdentifier,
  isNoSubstitutionTemplateLiteral,
  isNumericLiteral,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isShorthandPropertyAssignment,
  isStringLiteral,
  isTemplateExpression,
  isVariableDeclaration,
} from "typescript/unstable/ast/is";
import { type Checker, type Symbol, SymbolFlags } from "typescript/unstable/sync";

const depthMax = 8;

/** @returns undefined where it is not fixed, or not seen to be */
export function fixedText(checker: Checker, node: Node | undefined, depth = 0): string | undefined {
  if (node === undefined || depth > depthMax) return undefined;
  const inner = (next: Node | undefined) => fixedText(checker, next, depth + 1);
  if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (isNumericLiteral(node)) return String(Number(node.text.replaceAll("_", "")));
  if (isTemplateExpression(node))
    return joined([
      node.head.text,
      ...node.templateSpans.flatMap((span) => [inner(span.expression), span.literal.text]),
    ]);
  // The only operator that two texts have.
  if (isBinaryExpression(node)) return joined([inner(node.left), inner(node.right)]);
  if (isIdentifier(node)) return inner(valueOf(checker, checker.getSymbolAtLocation(node)));
  if (isPropertyAccessExpression(node))
    return inner(valueOf(checker, checker.getSymbolAtLocation(node.name)));
  return undefined;
}

const joined = (parts: readonly (string | undefined)[]): string | undefined =>
  parts.includes(undefined) ? undefined : parts.join("");

/** Where a name is declared, here or in the file that it is imported from. */
export function declarationOf(checker: Checker, symbol: Symbol | undefined): Node | undefined {
  if (symbol === undefined) return undefined;
  const own = (symbol.flags & SymbolFlags.Alias) !== 0 ? checker.getAliasedSymbol(symbol) : symbol;
  return own.declarations[0]?.resolve();
}

/** What it stands for: the value of a variable or of a property. */
export function valueOf(checker: Checker, symbol: Symbol | undefined): Node | undefined {
  const declared = declarationOf(checker, symbol);
  if (declared === undefined) return undefined;
  if (isShorthandPropertyAssignment(declared))
    return valueOf(checker, checker.getShorthandAssignmentValueSymbol(declared));
  return isVariableDeclaration(declared) || isPropertyAssignment(declared) ? declared.initializer : undefined;
}
