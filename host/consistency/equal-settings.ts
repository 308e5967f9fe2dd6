// Settings that must be equal on all processes, compared without revealing them: each node publishes keyed hashes of its settings
// (HMAC with a key derived from BUS_SECRET), in messages that are encrypted with BUS_SECRET. So the bus's login alone is not
// enough to read or forge them. comparison.ts decides what follows from a difference.
import { createHmac } from "node:crypto";
import { tokenKeyId } from "../../services/shared/token-key.ts";

/**
 * The phase of a process, published as `standing`. While it starts, other processes ignore it. Then it is new for a moment, in
 * which it gives way to older processes. Once settled it gives way to none.
 */
export type ProcessPhase = "starting" | "new" | "settled";

/** What a node publishes: the name of each setting with a hash of its value. */
export interface SettingsHashes {
  readonly standing: ProcessPhase;
  /** Must be equal if both nodes have a value. */
  readonly equal: Readonly<Record<string, string>>;
  /** Should be equal. */
  readonly alike: Readonly<Record<string, string>>;
  /** Key ids (`kid`): of the key that signs tokens, and of all keys that are accepted, the signing key included. */
  readonly tokens?: { readonly signs: string; readonly accepts: readonly string[] };
}

export interface ComparedSettings {
  busSecret: string;
  bootSecret: string | undefined;
  /** Undefined if no service of the process signs tokens. */
  jwtSecret: string | undefined;
  jwtPreviousSecrets: readonly string[];
  /** Undefined if no service of the process signs checkpoints. */
  auditSigningKey: string | undefined;
  publicUrl: string;
  keysHeldSeconds: number;
}

/** @returns the hashes of all settings that the process has */
export function fingerprintsOf(held: ComparedSettings, standing: ProcessPhase): SettingsHashes {
  const { busSecret, bootSecret, jwtSecret, auditSigningKey, publicUrl, keysHeldSeconds } = held;
  const hash = (name: string, value: string) =>
    createHmac("sha256", busSecret).update(`records equal v1\0${name}\0${value}`).digest("hex").slice(0, 24);
  const hashes = (values: Record<string, string | undefined>) =>
    Object.fromEntries(
      Object.entries(values).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, hash(name, value)]],
      ),
    );
  return {
    standing: standing,
    equal: hashes({ BOOT_SECRET: bootSecret }),
    alike: hashes({
      PUBLIC_URL: publicUrl,
      KEYS_HELD_SECONDS: String(keysHeldSeconds),
      AUDIT_SIGNING_KEY: auditSigningKey,
    }),
    ...(jwtSecret === undefined
      ? {}
      : {
          tokens: {
            signs: tokenKeyId(jwtSecret),
            accepts: [jwtSecret, ...held.jwtPreviousSecrets].map(tokenKeyId),
          },
        }),
  };
}

const isText = (value: unknown): value is string => typeof value === "string" && value.length <= 64;
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const areTexts = (value: unknown): value is Record<string, string> =>
  isObject(value) && Object.values(value).every(isText);
const isPhase = (value: unknown): value is ProcessPhase =>
  value === "starting" || value === "new" || value === "settled";

/** @returns the hashes that a node publishes; undefined for another form, as a node of another version may publish */
export function readFingerprints(shown: unknown): SettingsHashes | undefined {
  if (!isObject(shown)) return undefined;
  const { standing, equal, alike, tokens } = shown;
  if (!isPhase(standing) || !areTexts(equal) || !areTexts(alike)) return undefined;
  if (tokens === undefined) return { standing: standing, equal, alike };
  if (!isObject(tokens)) return undefined;
  const { signs, accepts } = tokens;
  if (!isText(signs) || !Array.isArray(accepts) || !accepts.every(isText)) return undefined;
  return { standing: standing, equal, alike, tokens: { signs, accepts } };
}

/** @returns the names of settings that differ but must not */
export function conflicts(own: SettingsHashes, other: SettingsHashes): string[] {
  return [
    ...different(own.equal, other.equal),
    ...(acceptTokensOfEachOther(own, other) ? [] : ["JWT_SECRET"]),
  ];
}

/** @returns the names of settings that differ but should not */
export function differences(own: SettingsHashes, other: SettingsHashes): string[] {
  return different(own.alike, other.alike);
}

/** While JWT_SECRET is rotated, processes sign with either secret, so all of them must accept both. */
function acceptTokensOfEachOther(
  { tokens: own }: SettingsHashes,
  { tokens: other }: SettingsHashes,
): boolean {
  if (own === undefined || other === undefined) return true;
  return own.accepts.includes(other.signs) && other.accepts.includes(own.signs);
}

function different(own: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): string[] {
  return Object.keys(own).filter((name) => other[name] !== undefined && other[name] !== own[name]);
}

/**
 * Whether this process exits if two processes conflict. The older one stays, so that a rollout with a wrong value replaces
 * nothing that works. Of two processes that started at the same moment, the one with the smaller id stays.
 */
export function mustExit(
  own: { id: string; standing: ProcessPhase },
  other: { id: string; standing: ProcessPhase },
): boolean {
  if (own.standing === "settled" || other.standing === "starting") return false;
  return own.standing === "starting" || other.standing === "settled" || other.id < own.id;
}

/** @returns the application_name of a process's database sessions: equal for equal NAMESPACE and BUS_SECRET */
export function sessionNameOf(namespace: string, busSecret: string): string {
  const mark = createHmac("sha256", busSecret).update(`records namespace v1\0${namespace}`).digest("hex");
  return `records ${mark.slice(0, 24)}`;
}
