/**
 * Compiles declared parameters into one function that reads a flat object of them: the action's own check, run
 * on whatever node the action runs on, whether the call came from the gateway or from another service.
 */
import { notFoundType } from "./read-scalar.ts";
import type { LocatedField, ParametersShape } from "./rule-types.ts";
import {
  type Failure,
  type ParamsOf,
  type ParamSource,
  type ParamSources,
  paramSources,
  type RuleShape,
} from "./types.ts";
import { newValidator } from "./validator.ts";

/** `notFound` is the name of a path parameter whose value cannot exist. */
type Checked<T> = { params: T } | { notFound: string } | { failures: Failure[] };

/** `bodyFault` stands for the whole body (absent, or not an object): then no field of the body is checked. */
export type Check<T> = (flat: Readonly<Record<string, unknown>>, bodyFault?: Failure) => Checked<T>;

/** The input and output of the generated code. */
interface Request {
  flat: Readonly<Record<string, unknown>>;
  bodyFault: Failure | undefined;
  params: unknown;
}

const nameForm = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/i;
const reservedNames = new Set(["constructor", "prototype", "toString", "valueOf", "hasOwnProperty"]);

/**
 * @throws Error when two places declare the same name, or a name is invalid: mistakes in the program.
 * The returned function never throws and does not change its argument.
 */
export function compileParams<const P extends ParamSources>(places: P): Check<ParamsOf<P>> {
  refuseBadNames(places);
  const schema: ParametersShape = { type: "parameters", $$root: true, fields: located(places) };
  const check = newValidator().compile<unknown>({ ...schema });
  return (flat, bodyFault) => {
    const request: Request = { flat, bodyFault, params: undefined };
    const found: unknown = check(request);
    // The generated code has read every declared field into `params`, and has pushed only failures.
    if (found === true) return { params: request.params as ParamsOf<P> };
    return verdict(found as Failure[]);
  };
}

/** Failures take precedence over "not found": a malformed request is reported first. */
function verdict(found: Failure[]): { notFound: string } | { failures: Failure[] } {
  const failures = found.filter(({ type }) => type !== notFoundType);
  const absent = found.find(({ type }) => type === notFoundType);
  if (failures.length > 0 || absent === undefined) return { failures };
  return { notFound: absent.loc[1] ?? "" };
}

function located(places: ParamSources): Record<ParamSource, LocatedField[]> {
  const fields: Record<ParamSource, LocatedField[]> = { path: [], query: [], header: [], body: [] };
  for (const place of paramSources) {
    for (const [name, shape] of Object.entries(places[place] ?? {})) {
      fields[place].push({ name, loc: [place, place === "header" ? wireName(name, shape) : name], shape });
    }
  }
  return fields;
}

/** Header names are compared without case; FastAPI reports them in lower case, so do we. */
function wireName(name: string, { header }: RuleShape): string {
  return (header ?? name.replaceAll("_", "-")).toLowerCase();
}

/** Maps the header's name in lower case, as Node.js writes it, to the parameter's name. */
export function headerNames(places: ParamSources): ReadonlyMap<string, string> {
  return new Map(Object.entries(places.header ?? {}).map(([name, shape]) => [wireName(name, shape), name]));
}

function refuseBadNames(places: ParamSources): void {
  const seen = new Set<string>();
  for (const place of paramSources) {
    for (const name of Object.keys(places[place] ?? {})) {
      if (!nameForm.test(name) || reservedNames.has(name)) throw new Error(`${name} is not a parameter name`);
      if (seen.has(name)) throw new Error(`parameter ${name} is declared twice`);
      seen.add(name);
    }
  }
}
