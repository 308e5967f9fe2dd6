// Access tokens: JWTs that name a session. What the bearer may do is read from the session's present state, so the
// claims besides `sid` are for clients' information. jsonwebtoken's permissive defaults (no exp, any HMAC, unknown
// crit, short secrets) are each closed here.
import { createSecretKey, type KeyObject } from "node:crypto";
import jwt from "jsonwebtoken";
import type { Role } from "../shared/roles.ts";
import { tokenKeyId } from "../shared/token-key.ts";
import { VerifiedTokens } from "./verified-tokens.ts";

const issuer = "records";
const audience = "records-api";
const tokenCharsMax = 4096;
const headerFields = new Set(["alg", "typ", "kid"]);
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export interface TokenFacts {
  userId: number;
  tenantId: number;
  role: Role;
  sessionId: string;
}

interface SigningKey {
  id: string;
  key: KeyObject;
}

function signingKey(secret: string): SigningKey {
  return { id: tokenKeyId(secret), key: createSecretKey(Buffer.from(secret)) };
}

export class AccessTokens {
  readonly #current: SigningKey;
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #ttlSeconds: number;
  readonly #verified = new VerifiedTokens();

  /** @param previousSecrets still verify until their tokens expire; only `secret` signs */
  constructor(secret: string, previousSecrets: readonly string[], ttlSeconds: number) {
    this.#current = signingKey(secret);
    const all = [this.#current, ...previousSecrets.map(signingKey)];
    this.#keys = new Map(all.map(({ id, key }) => [id, key]));
    this.#ttlSeconds = ttlSeconds;
  }

  sign(facts: TokenFacts): string {
    const claims = { tid: facts.tenantId, role: facts.role, sid: facts.sessionId };
    return jwt.sign(claims, this.#current.key, {
      algorithm: "HS256",
      keyid: this.#current.id,
      issuer,
      audience,
      subject: String(facts.userId),
      expiresIn: this.#ttlSeconds,
    });
  }

  /** @returns the session's id, or undefined for anything but a token of ours that is valid now */
  sessionOf(token: string): string | undefined {
    if (token.length > tokenCharsMax) return undefined;
    const known = this.#verified.sessionOf(token);
    if (known !== undefined) return known;
    const key = this.#keys.get(keyNamedBy(token) ?? "");
    if (key === undefined) return undefined;
    try {
      const claims = jwt.verify(token, key, {
        algorithms: ["HS256"],
        issuer,
        audience,
        maxAge: this.#ttlSeconds,
      });
      const sessionId = typeof claims === "string" ? undefined : sessionIn(claims);
      if (sessionId !== undefined) this.#verified.add(token, sessionId, endOf(claims, this.#ttlSeconds));
      return sessionId;
    } catch {
      return undefined;
    }
  }

  /** The name of the key that a token says it was signed with, where this process does not have that one. */
  unknownKeyOf(token: string): string | undefined {
    const name = token.length > tokenCharsMax ? undefined : keyNamedBy(token);
    return name === undefined || this.#keys.has(name) ? undefined : name;
  }
}

/** Of a token whose head is like ours. */
function keyNamedBy(token: string): string | undefined {
  const head = token.slice(0, token.indexOf("."));
  try {
    const header: unknown = JSON.parse(Buffer.from(head, "base64url").toString());
    if (typeof header !== "object" || header === null) return undefined;
    if (Object.keys(header).some((field) => !headerFields.has(field))) return undefined;
    const { kid, typ } = header as { kid?: unknown; typ?: unknown };
    return typ === "JWT" && typeof kid === "string" ? kid : undefined;
  } catch {
    return undefined;
  }
}

/** In ms since 1970. What jsonwebtoken verified has both claims. */
function endOf(claims: string | jwt.JwtPayload, ttlSeconds: number): number {
  const { exp = 0, iat = 0 } = typeof claims === "string" ? {} : claims;
  return Math.min(exp, iat + ttlSeconds) * 1000;
}

function sessionIn(claims: jwt.JwtPayload): string | undefined {
  const { aud, sub, exp, iat, tid, sid } = claims as Record<string, unknown>;
  const nowSeconds = Date.now() / 1000;
  const wellFormed =
    aud === audience &&
    typeof sub === "string" &&
    typeof exp === "number" &&
    typeof iat === "number" &&
    iat <= nowSeconds + 60 &&
    Number.isInteger(tid);
  return wellFormed && typeof sid === "string" && uuid.test(sid) ? sid : undefined;
}
