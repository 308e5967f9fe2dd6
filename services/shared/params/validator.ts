/**
 * fastest-validator as the composer of a request's check: it generates the code that walks the fields and calls
 * our rule types (`rule-types.ts`). Here only its treatment of absence and null is replaced.
 */
import fastest from "fastest-validator";
import { composedTypes, leafTypes } from "./rule-types.ts";
import type { CompiledRule } from "./rule-types.ts";
import type { RuleShape } from "./types.ts";

// The types say `exports.default`, but the CommonJS module is the class itself.
const Validator = fastest as unknown as typeof fastest.default;

class ParameterValidator extends Validator {
  /**
   * Called by fastest-validator for every rule. Its own version calls null absent; ours gives null to the rule,
   * which then says what it wanted instead, and knows the texts that stand for nothing.
   */
  wrapRequiredCheckSourceCode(
    { schema }: CompiledRule<RuleShape>,
    inner: string,
    _scope: unknown,
    into: string,
  ): string {
    const ofNull = schema.nullable === true ? `else if (value === null) { ${into} = null; }` : "";
    return `${emptySource(schema)} if (value === undefined) { ${absentSource(schema, into)} }
      ${ofNull} else { ${inner} }`;
  }
}

function emptySource({ empty }: RuleShape): string {
  if (empty === "null") return `if (value === "") value = null;`;
  if (empty === "absent") return `if (value === "" || value === null) value = undefined;`;
  return "";
}

/** The default is written out as a literal, so that every call gets its own copy. */
function absentSource(schema: RuleShape, into: string): string {
  if (schema.default !== undefined) return `${into} = ${JSON.stringify(schema.default)};`;
  if (schema.optional === true) return "";
  return `errors.push({ loc: [], msg: "Field required", type: "missing" });`;
}

export function newValidator(): InstanceType<typeof Validator> {
  const validator = new ParameterValidator({ haltOnFirstError: false });
  for (const [type, compile] of Object.entries({ ...leafTypes, ...composedTypes })) {
    // The package declares a narrower `this` and `context` than what it really passes (see `Composer`).
    validator.add(type, compile as unknown as Parameters<typeof validator.add>[1]);
  }
  return validator;
}
