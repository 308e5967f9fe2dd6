// The identity of a caller. Within a process only this file can make a Caller (a private field brands it). When a call leaves the
// process, the Caller is serialised as a signed text, and the receiving node verifies the signature before it uses any field. A
// forged, altered or outdated `ctx.meta.caller` counts as no caller. A signature is valid for 60 s, as long as the message that
// carries it (bus-seal.ts). Messages are encrypted and accepted once, so nobody else can read or repeat a signature.
import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from "node:crypto";
import type { Role } from "./roles.ts";

const signatureTtlSeconds = 60;
const clockSkewSeconds = 30;

export type Principal =
  | { kind: "anonymous" }
  | {
      kind: "user";
      userId: number;
      tenantId: number;
      role: Role;
      departmentId: number | null;
      canSeeAllPatients: boolean;
      sessionId: string;
      /** When the session was read from the database: ms since 1970, by the clock of the node that read it. */
      readAt: number;
    }
  /** A person at the REPL of a node that holds the bus key. Has the rights of a superadmin. */
  | { kind: "operator"; name: string }
  /** The service itself: start-up, schedules and jobs. */
  | { kind: "system" };

export interface CallerFacts {
  principal: Principal;
  /** The service that makes this call; "" if no service makes it. */
  via: string;
  requestId: string;
  ip: string | null;
  userAgent: string | null;
}

let busKey: KeyObject | undefined;

/** Derives the signing key. All processes of a deployment derive the same key; without the bus secret nobody can sign. */
export function setBusKey(busSecret: string): void {
  busKey = createSecretKey(Buffer.from(hkdfSync("sha256", busSecret, "", "records bus caller v1", 32)));
}

function signature(payload: string): Buffer {
  if (busKey === undefined) throw new Error("the bus key is not set: start through the broker configuration");
  return createHmac("sha256", busKey).update(payload).digest();
}

/** The identity behind a call. Immutable. */
export class Caller {
  readonly #facts: CallerFacts;

  constructor(facts: CallerFacts) {
    this.#facts = facts;
  }

  /** @returns the caller of a call, or undefined if the value is not a Caller and not a valid signature */
  static read(value: unknown): Caller | undefined {
    if (typeof value === "string") return Caller.#verify(value);
    return typeof value === "object" && value !== null && #facts in value ? value : undefined;
  }

  static system(via: string, requestId = crypto.randomUUID()): Caller {
    return new Caller({ principal: { kind: "system" }, via, requestId, ip: null, userAgent: null });
  }

  static #verify(signed: string): Caller | undefined {
    const [payload, mac, ...rest] = signed.split(".");
    if (payload === undefined || mac === undefined || rest.length > 0) return undefined;
    const given = Buffer.from(mac, "base64url");
    const right = signature(payload);
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
    // Signed by a node of this deployment, so the shape is CallerFacts & { iat }.
    const { iat, ...facts } = JSON.parse(Buffer.from(payload, "base64url").toString()) as CallerFacts & {
      iat: number;
    };
    const age = Date.now() / 1000 - iat;
    return age <= signatureTtlSeconds && age >= -clockSkewSeconds ? new Caller(facts) : undefined;
  }

  get principal(): Principal {
    return this.#facts.principal;
  }

  get facts(): Readonly<CallerFacts> {
    return this.#facts;
  }

  /** The same person and request, now calling through a service. */
  through(service: string): Caller {
    return this.#facts.via === service ? this : new Caller({ ...this.#facts, via: service });
  }

  /** The same request, with the current rights of the person. */
  as(principal: Principal): Caller {
    return new Caller({ ...this.#facts, principal });
  }

  /** The signed text that travels over the bus. */
  toJSON(): string {
    const payload = Buffer.from(
      JSON.stringify({ ...this.#facts, iat: Math.floor(Date.now() / 1000) }),
    ).toString("base64url");
    return `${payload}.${signature(payload).toString("base64url")}`;
  }
}
