/**
 * fastest-validator composes the check of a request: it generates the code that walks over the fields and calls
 * our rule types (`rule-types.ts`). Only its treatment of absence and null is replaced here.
 */
import fastest from "fastest-validator";
import { composedTypes, leafTypes } from "./rule-types.ts";
import type { CompiledRule } from "./rule-types.ts";
import type { RuleShape } from "./types.ts";

// The types declare `exports.default`, but the CommonJS module is the class itself.
const Validator = fastest as unknown as typeof fastest.default;

class ParameterValidator extends Validator {
  /**
   * Called by fastest-validator for every rule. Its own version treats null as absent. Ours passes null to the rule,
   * which reports the expected type, and handles the texts that mean null or absent.
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

/** The default is generated as a literal, so every call gets its own copy. */
function absentSource(schema: RuleShape, into: string): string {
  if (schema.default !== undefined) return `${into} = ${JSON.stringify(schema.default)};`;
  if (schema.optional === true) return "";
  return `errors.push({ loc: [], msg: "Field required", type: "missing" });`;
}

/** @returns a validator that knows our rule types and reports all failures */
export function newValidator(): InstanceType<typeof Validator> {
  const validator = new ParameterValidator({ haltOnFirstError: false });
  for (const [type, compile] of Object.entries({ ...leafTypes, ...composedTypes })) {
    // The package declares a narrower `this` and `context` than it passes (see `Composer`).
    validator.add(type, compile as unknown as Parameters<typeof validator.add>[1]);
  }
  return validator;
}
