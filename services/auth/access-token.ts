// Access tokens: JWTs that name a session. The caller's rights are read from the current state of the
// session, so the claims other than `sid` only inform the client. jsonwebtoken's permissive defaults (no exp,
// any HMAC algorithm, unknown crit, short secrets) are each closed here.
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

/** The claims of a token. */
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

/** Signs and verifies the access tokens of this installation. */
export class AccessTokens {
  readonly #current: SigningKey;
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #ttlSeconds: number;
  readonly #verified = new VerifiedTokens();

  /** @param previousSecrets accepted until their tokens expire; only `secret` signs */
  constructor(secret: string, previousSecrets: readonly string[], ttlSeconds: number) {
    this.#current = signingKey(secret);
    const all = [this.#current, ...previousSecrets.map(signingKey)];
    this.#keys = new Map(all.map(({ id, key }) => [id, key]));
    this.#ttlSeconds = ttlSeconds;
  }

  /** Signs a token that is valid for `ttlSeconds` from now. */
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

  /** @returns the session's id, or undefined unless the token is valid now */
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

  /** The id of the key in the token's header, if this process does not have that key. */
  unknownKeyOf(token: string): string | undefined {
    const name = token.length > tokenCharsMax ? undefined : keyNamedBy(token);
    return name === undefined || this.#keys.has(name) ? undefined : name;
  }
}

/** The key id of a token whose header has the expected form. */
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

/** The end of validity in ms since 1970. jsonwebtoken has verified that both claims exist. */
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
