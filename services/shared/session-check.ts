// Each call carries its caller as the gateway read the session. A call that was delayed since then (by its body, on the bus, by a
// process that was suspended) is not trusted: the node that runs it reads the session again, with one request to `auth` for all
// calls of a turn of the event loop. A call that is delayed later, by a lock or a connection, is checked at the end of its
// transaction (database/live-session.ts).
import type { ServiceBroker } from "moleculer";
import { callAs } from "./bus/bus.ts";
import type { Caller, Principal } from "./caller.ts";
import { sessionEnded } from "./errors.ts";
import type { Role } from "./roles.ts";
import { TenantBatches } from "./tenant-batches.ts";

/** Clocks that differ by more cost one request per call, and nothing else. */
const trustedMsMax = 1_000;

/** What `auth` returns for a live session. */
export interface SessionHolder {
  session_id: string;
  user_id: number;
  tenant_id: number;
  role: Role;
  department_id: number | null;
  can_see_all_patients: boolean;
  /** Whether the tenant is being restored. */
  frozen: boolean;
}

/** @param readAt time before the request was sent, in ms since 1970 */
export function principalOf(holder: SessionHolder, readAt: number): Principal {
  return {
    kind: "user",
    userId: holder.user_id,
    tenantId: holder.tenant_id,
    role: holder.role,
    departmentId: holder.department_id,
    canSeeAllPatients: holder.can_see_all_patients,
    sessionId: holder.session_id,
    readAt,
  };
}

class SessionCheck {
  readonly #broker: ServiceBroker;
  readonly #questions = new TenantBatches<string, SessionHolder | null, "all">((_all, ids) => this.#ask(ids));

  constructor(broker: ServiceBroker) {
    this.#broker = broker;
  }

  /** @returns the caller with the current rights; @throws Unauthorized when the session has ended */
  async refresh(caller: Caller): Promise<Caller> {
    const { principal } = caller;
    if (principal.kind !== "user" || Math.abs(Date.now() - principal.readAt) <= trustedMsMax) return caller;
    const readAt = Date.now();
    const holder = await this.#questions.add("all", principal.sessionId);
    if (holder === null) throw sessionEnded();
    return caller.as(principalOf(holder, readAt));
  }

  async #ask(ids: readonly string[]): Promise<(SessionHolder | null)[]> {
    const holders = await callAs(this.#broker, "bus", "auth.live_sessions", {
      session_ids: [...new Set(ids)],
    });
    const found = new Map(holders.map((holder) => [holder.session_id, holder]));
    return ids.map((id) => found.get(id) ?? null);
  }
}

const checks = new WeakMap<ServiceBroker, SessionCheck>();

/** @returns the session check of a broker, created at its first use */
export function sessionCheckOf(broker: ServiceBroker): SessionCheck {
  const made = checks.get(broker) ?? new SessionCheck(broker);
  checks.set(broker, made);
  return made;
}
