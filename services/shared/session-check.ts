// Who calls is told along with each call, as it was when the gateway read the session. A call that has waited since (for its
// body, on the bus, for a process that stood still) is not made on the word of then: on the node where it runs the session
// is read once more, by one question to `auth` for all calls of a turn. What waits later, for a lock or a connection, is
// asked again at the end of its transaction (database/live-session.ts).
import type { ServiceBroker } from "moleculer";
import { callAs } from "./bus/bus.ts";
import type { Caller, Principal } from "./caller.ts";
import { sessionEnded } from "./errors.ts";
import type { Role } from "./roles.ts";
import { TenantBatches } from "./tenant-batches.ts";

/** Clocks that differ by more cost a question per call, and nothing else. */
const believedMsMax = 1_000;

/** What `auth` says of a session that lives. */
export interface Holder {
  session_id: string;
  user_id: number;
  tenant_id: number;
  role: Role;
  department_id: number | null;
  can_see_all_patients: boolean;
  /** The tenant is being restored. */
  frozen: boolean;
}

/** @param readAt of before the question was put */
export function principalOf(holder: Holder, readAt: number): Principal {
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
  readonly #questions = new TenantBatches<string, Holder | null, "all">((_all, ids) => this.#ask(ids));

  constructor(broker: ServiceBroker) {
    this.#broker = broker;
  }

  /** @returns the caller as of now; @throws Unauthorized when the session has ended */
  async present(caller: Caller): Promise<Caller> {
    const { principal } = caller;
    if (principal.kind !== "user" || Math.abs(Date.now() - principal.readAt) <= believedMsMax) return caller;
    const readAt = Date.now();
    const holder = await this.#questions.add("all", principal.sessionId);
    if (holder === null) throw sessionEnded();
    return caller.as(principalOf(holder, readAt));
  }

  async #ask(ids: readonly string[]): Promise<(Holder | null)[]> {
    const holders = await callAs(this.#broker, "bus", "auth.live_sessions", {
      session_ids: [...new Set(ids)],
    });
    const found = new Map(holders.map((holder) => [holder.session_id, holder]));
    return ids.map((id) => found.get(id) ?? null);
  }
}

const checks = new WeakMap<ServiceBroker, SessionCheck>();

export function sessionCheckOf(broker: ServiceBroker): SessionCheck {
  const made = checks.get(broker) ?? new SessionCheck(broker);
  checks.set(broker, made);
  return made;
}
