// Settings that must be equal on all processes, compared without telling them: each node shows keyed hashes of those that it
// holds (HMAC under a key of BUS_SECRET), in messages that are sealed with BUS_SECRET. So who has the bus's login alone
// can neither read nor forge them. What follows from a difference is decided in comparison.ts.
import { createHmac } from "node:crypto";
import { tokenKeyId } from "../../services/shared/token-key.ts";

/**
 * How far a process has come. While it starts nobody minds it. Then it is new for a moment, in which it gives way to who was
 * there before; and once it is settled it gives way to nobody.
 */
export type Standing = "starting" | "new" | "settled";

/** As the others see them: a setting's name, and a hash of its value. */
export interface SettingsHashes {
  readonly standing: Standing;
  /** Must be the same wherever both have one. */
  readonly equal: Readonly<Record<string, string>>;
  /** Should be the same. */
  readonly alike: Readonly<Record<string, string>>;
  /** Names of keys (`kid`): the one that tokens are signed with, and those by which they are accepted, itself among them. */
  readonly tokens?: { readonly signs: string; readonly accepts: readonly string[] };
}

export interface Held {
  busSecret: string;
  bootSecret: string | undefined;
  /** Undefined where no service of the process signs tokens. */
  jwtSecret: string | undefined;
  jwtPreviousSecrets: readonly string[];
  /** Undefined where no service of the process signs checkpoints. */
  auditSigningKey: string | undefined;
  publicUrl: string;
  keysHeldSeconds: number;
}

export function fingerprintsOf(held: Held, standing: Standing): SettingsHashes {
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
    standing,
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
const isStanding = (value: unknown): value is Standing =>
  value === "starting" || value === "new" || value === "settled";

/** What a node shows; undefined for anything else, as a node of another version may show. */
export function readFingerprints(shown: unknown): SettingsHashes | undefined {
  if (!isObject(shown)) return undefined;
  const { standing, equal, alike, tokens } = shown;
  if (!isStanding(standing) || !areTexts(equal) || !areTexts(alike)) return undefined;
  if (tokens === undefined) return { standing, equal, alike };
  if (!isObject(tokens)) return undefined;
  const { signs, accepts } = tokens;
  if (!isText(signs) || !Array.isArray(accepts) || !accepts.every(isText)) return undefined;
  return { standing, equal, alike, tokens: { signs, accepts } };
}

/** @returns the names of settings that differ though they must not */
export function conflicts(own: SettingsHashes, other: SettingsHashes): string[] {
  return [...different(own.equal, other.equal), ...(areTokensAccepted(own, other) ? [] : ["JWT_SECRET"])];
}

/** @returns the names of settings that differ though they should not */
export function differences(own: SettingsHashes, other: SettingsHashes): string[] {
  return different(own.alike, other.alike);
}

/** While JWT_SECRET is rotated some sign with one and some with the other: all must accept both. */
function areTokensAccepted({ tokens: own }: SettingsHashes, { tokens: other }: SettingsHashes): boolean {
  if (own === undefined || other === undefined) return true;
  return own.accepts.includes(other.signs) && other.accepts.includes(own.signs);
}

function different(own: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): string[] {
  return Object.keys(own).filter((name) => other[name] !== undefined && other[name] !== own[name]);
}

/**
 * Of two processes that differ, whether this one goes. The one that was there before stays, so that a rollout with a wrong
 * value replaces nothing that works. Of two that came at the same moment, the one whose name comes first stays.
 */
export function givesWay(
  own: { id: string; standing: Standing },
  other: { id: string; standing: Standing },
): boolean {
  if (own.standing === "settled" || other.standing === "starting") return false;
  return own.standing === "starting" || other.standing === "settled" || other.id < own.id;
}

/** What the database's sessions of a process are called: the same for all with the same NAMESPACE and BUS_SECRET. */
export function sessionNameOf(namespace: string, busSecret: string): string {
  const mark = createHmac("sha256", busSecret).update(`records namespace v1\0${namespace}`).digest("hex");
  return `records ${mark.slice(0, 24)}`;
}
