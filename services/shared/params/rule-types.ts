/**
 * Our rule types for fastest-validator. A leaf is a closure that is prepared once per rule (`read-*.ts`); lists, objects
 * and the whole request are generated code around the leaves. Failures are pushed without a location; each level
 * prepends its part on the way out, so a valid request never builds one.
 */
import { locate, notFields, valueError } from "./failure.ts";
import { finishList, lengthMax, tooLong } from "./list-rules.ts";
import { readDictionary } from "./read-dictionary.ts";
import { readEmail } from "./read-email.ts";
import { readMoment } from "./read-moment.ts";
import { readFlag, readInteger, readOneOf } from "./read-scalar.ts";
import { type Read, readText, refuse } from "./read-text.ts";
import { readUrl } from "./read-url.ts";
import type { ListShape, ObjectShape, OwnCheck, ParamSource, RuleShape } from "./types.ts";

/** More failures help nobody, and a million invalid items must not produce a million of them. */
const failuresMax = 100;

export interface CompiledRule<S> {
  schema: S;
  index: number;
}

/** The parts of fastest-validator's compile context and of `this` that rule types use, like its own rules. */
interface Scope {
  customs: Record<number, unknown>;
}
interface Composer {
  getRuleFromSchema(schema: object): CompiledRule<RuleShape>;
  compileRule(rule: CompiledRule<RuleShape>, scope: Scope, path: string, inner: string, into: string): string;
}
type Compile<S> = (this: Composer, rule: CompiledRule<S>, path: string, scope: Scope) => { source: string };

/** A field with the place and the name that its failures report. */
export interface LocatedField {
  name: string;
  loc: readonly string[];
  shape: RuleShape;
}
export interface ParametersShape {
  type: "parameters";
  $$root: true;
  fields: Readonly<Record<ParamSource, readonly LocatedField[]>>;
}

export const leafTypes = {
  text: leaf(readText),
  secretText: leaf(readText),
  email: leaf(readEmail),
  integer: leaf(readInteger),
  flag: leaf(readFlag),
  oneOf: leaf(readOneOf),
  dictionary: leaf(readDictionary),
  dateOrTime: leaf(readMoment),
  url: leaf(readUrl),
};

export const composedTypes = { listOf: compileList, object: compileObject, parameters: compileParameters };

function leaf<S extends { checks?: readonly OwnCheck[] }>(prepare: (shape: S) => Read): Compile<S> {
  return ({ schema, index }, _path, scope) => {
    scope.customs[index] = { read: withChecks(prepare(schema), schema.checks) };
    return { source: `return context.customs[${index}].read(value, errors);` };
  };
}

function withChecks(read: Read, checks: readonly OwnCheck[] = []): Read {
  if (checks.length === 0) return read;
  return (value, failures) => {
    const before = failures.length;
    const result = read(value, failures);
    if (failures.length !== before) return undefined;
    for (const check of checks) {
      const sentence = check(result);
      if (sentence !== undefined) return void failures.push(valueError(sentence));
    }
    return result;
  };
}

function compileList(this: Composer, rule: CompiledRule<ListShape>, _path: string, scope: Scope) {
  const { schema, index } = rule;
  const finish = withChecks(finishList(schema), schema.checks);
  scope.customs[index] = { refuse, locate, finish, tooLong: tooLong(schema) };
  const item = readInto(this, scope, schema.items, "list[i]", "out[i]");
  const source = `
    var own = context.customs[${index}], list = value, before = errors.length, seen = before;
    if (!Array.isArray(list)) return own.refuse(errors, "list_type", "Input should be a valid list");
    if (list.length > ${lengthMax(schema)}) return own.tooLong(list, errors);
    var out = new Array(list.length);
    for (var i = 0; i < list.length && seen < ${failuresMax}; i++) {
      ${item}
      if (errors.length !== seen) seen = own.locate(errors, seen, [String(i)]);
    }
    return seen === before ? own.finish(out, errors) : undefined;`;
  return { source };
}

function compileObject(this: Composer, rule: CompiledRule<ObjectShape>, _path: string, scope: Scope) {
  const { schema, index } = rule;
  const finish = withChecks((value) => value, schema.checks);
  scope.customs[index] = { notFields, locate, finish };
  const fields = Object.entries(schema.fields).map(([name, shape]) => ({ name, loc: [name], shape }));
  const source = `
    var own = context.customs[${index}], source = value, before = errors.length, seen = before, out = {};
    if (typeof source !== "object" || source === null || Array.isArray(source))
      return void errors.push(own.notFields());
    ${fieldsSource(this, scope, fields)}
    return seen === before ? own.finish(out, errors) : undefined;`;
  return { source };
}

/**
 * The whole request. `value` is a `Request` of compile.ts. Only own declared names are read, so inherited and unknown
 * names are ignored, and `out` has no prototype.
 */
function compileParameters(this: Composer, rule: CompiledRule<ParametersShape>, _path: string, scope: Scope) {
  const { fields } = rule.schema;
  scope.customs[rule.index] = { locate };
  const source = `
    var own = context.customs[${rule.index}], request = value, source = request.flat, seen = 0;
    var out = request.params = { __proto__: null };
    ${fieldsSource(this, scope, [...fields.path, ...fields.query, ...fields.header])}
    if (request.bodyFault === undefined) {
      ${fieldsSource(this, scope, fields.body)}
    } else errors.push(request.bodyFault);
    return request;`;
  return { source };
}

function fieldsSource(composer: Composer, scope: Scope, fields: readonly LocatedField[]): string {
  const lines = fields.map(({ name, loc, shape }) => {
    const key = JSON.stringify(name);
    const from = `Object.hasOwn(source, ${key}) ? source[${key}] : undefined`;
    return `${readInto(composer, scope, shape, from, `out[${key}]`)}
      if (errors.length !== seen) seen = own.locate(errors, seen, ${JSON.stringify(loc)});`;
  });
  return lines.join("\n");
}

/** The copy is needed: fastest-validator would treat the second use of a rule object as a cyclic schema, which is slower. */
function readInto(composer: Composer, scope: Scope, shape: RuleShape, from: string, into: string): string {
  const rule = composer.getRuleFromSchema({ ...shape });
  const inner = `${into} = context.fn[%%INDEX%%](value, field, parent, errors, context, label);`;
  return `value = ${from};\n${composer.compileRule(rule, scope, "", inner, into)}`;
}
