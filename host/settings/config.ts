/**
 * Reads the environment once, at the start. All faults are reported together, one sentence per line, so that a
 * deployment is not corrected one restart at a time. No other code of the project reads `process.env`.
 * Values of secrets are never repeated. A variable set to "" counts as not set (compose files pass such).
 */
import { readFileSync, statSync } from "node:fs";
import { errorCode } from "../../services/shared/start-error.ts";
import { Refused } from "./readers.ts";
import { faultsBetween } from "./rules.ts";
import { familyMark, type Setting } from "./entry.ts";
import { type Config, settings } from "./settings.ts";
import { withMinioNames } from "./store.ts";

const secretFileBytesMax = 65_536;

/** `message` contains all `faults`, one sentence per line; it holds no secret and may be printed. */
export class ConfigError extends Error {
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.name = "ConfigError";
    this.faults = faults;
  }
}

const byName = new Map<string, Setting<unknown>>(Object.values(settings).map((each) => [each.name, each]));

/**
 * @returns the checked settings of this process
 * @throws ConfigError naming every fault of the environment
 */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const faults: string[] = [];
  const env = withMinioNames(environment, faults);
  const given = givenTexts(env, faults);
  const isGiven = (name: string) => given.has(name) || isSet(env[`${name}_FILE`]);
  const textOf = (name: string): string | undefined => given.get(name) ?? byName.get(name)?.fallback(textOf);
  const values: Record<string, unknown> = {};
  for (const [field, setting] of Object.entries<Setting<unknown>>(settings)) {
    const text = textOf(setting.name);
    if (text === undefined) continue;
    try {
      values[field] = setting.reader(text);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      // A default that depends on a faulty setting fails with it; one sentence is enough.
      if (given.has(setting.name) || faults.length === 0)
        faults.push(`${setting.name} ${error.message}${setting.secret ? "" : `, not ${quoted(text)}`}.`);
    }
  }
  // Each field got the result of its own reader in the loop above; TypeScript cannot express that.
  const config = values as Config;
  faults.push(...faultsBetween(config, isGiven));
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze(config);
}

/** @returns every setting for docs/settings.md: variable, default as text ("" for none) and meaning */
export function describeSettings(): { name: string; default: string; meaning: string }[] {
  return [...byName.values()].map(({ name, shown, meaning, secret }) => ({
    name: secret ? `${name}, ${name}_FILE` : name,
    default: shown,
    meaning,
  }));
}

const isSet = (text: string | undefined): text is string => text !== undefined && text !== "";

const quoted = (text: string) => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);

/** @returns the texts of all set variables; for secrets also from the files that `<NAME>_FILE` names */
function givenTexts(env: NodeJS.ProcessEnv, faults: string[]): Map<string, string> {
  const given = new Map<string, string>();
  for (const { name, secret } of byName.values()) {
    if (name.endsWith(familyMark)) {
      const members = membersOf(name, env, faults);
      if (members.size > 0) given.set(name, JSON.stringify(Object.fromEntries(members)));
    } else {
      const text = givenText(name, secret, env, faults);
      if (text !== undefined) given.set(name, text);
    }
  }
  return given;
}

/** @returns the members of a family by the variable part of their names, in lower case */
function membersOf(family: string, env: NodeJS.ProcessEnv, faults: string[]): Map<string, string> {
  const beginning = family.slice(0, -familyMark.length);
  const members = new Map<string, string>();
  for (const variable of Object.keys(env)) {
    const kind = variable.startsWith(beginning)
      ? /^([A-Z0-9]{1,50})(?:_FILE)?$/.exec(variable.slice(beginning.length))?.[1]
      : undefined;
    if (kind === undefined || members.has(kind.toLowerCase())) continue;
    const text = givenText(`${beginning}${kind}`, true, env, faults);
    if (text !== undefined) members.set(kind.toLowerCase(), text);
  }
  return members;
}

function givenText(
  name: string,
  secret: boolean,
  env: NodeJS.ProcessEnv,
  faults: string[],
): string | undefined {
  const direct = env[name];
  const file = secret ? env[`${name}_FILE`] : undefined;
  if (!isSet(file)) return isSet(direct) ? direct.trim() : undefined;
  if (!isSet(direct)) return readSecretFile(name, file, faults);
  faults.push(`${name} and ${name}_FILE are both set; one is enough.`);
  return direct.trim();
}

function readSecretFile(name: string, path: string, faults: string[]): string | undefined {
  try {
    // Only plain files are read: a device or a pipe could block or never end.
    const stat = statSync(path);
    const fault = !stat.isFile() ? "no plain file" : stat.size > secretFileBytesMax ? "too large" : undefined;
    const text = fault === undefined ? readFileSync(path, "utf8").trim() : "";
    if (fault !== undefined) faults.push(`${name}_FILE names ${quoted(path)}, which is ${fault}.`);
    else if (text === "") faults.push(`${name}_FILE names ${quoted(path)}, which is empty.`);
    else return text;
  } catch (error) {
    const code = errorCode(error) || "unknown error";
    faults.push(`${name}_FILE names ${quoted(path)}, which cannot be read (${code}).`);
  }
  return undefined;
}

/** Environment variables that PostgreSQL clients read in addition to a URL; for a thread without any other environment. */
export const postgresEnvironment = (environment: NodeJS.ProcessEnv = process.env): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      name.startsWith("PG") && value !== undefined ? [[name, value]] : [],
    ),
  );
