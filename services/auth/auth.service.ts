// Signing in and out, and checking tokens.
// Owns: sessions, the counts of failed sign-ins, and the origins that accounts signed in from. A session ends
// when it expires, at sign-out, when the role or password of its user changes, when its user or tenant is
// blocked, deactivated or deleted, or when the account has opened a hundred newer ones.
// Promises: each request checks its token against the current state of the database, so a revocation applies
// from the next request on at every gateway. Password hashing is bounded and runs outside the event loop.
// Does not create accounts or set passwords (users).
import type { Service, ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { serviceMetrics } from "../../mixins/service-metrics.ts";
import { detectors } from "../../mixins/healing/detectors.ts";
import { jobs } from "../../mixins/jobs/jobs.ts";
import { type Call, implement, runtimeOf } from "../shared/bus/bus.ts";
import { listen } from "../shared/bus/listen.ts";
import { jobFaults } from "../../mixins/healing/job-faults.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { Change } from "../shared/database/change.ts";
import { AskAnother, sessionEnded, TooManyRequests, Unauthorized } from "../shared/errors.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { addressKey, RateLimit } from "../shared/rate-limits.ts";
import type { SessionHolder } from "../shared/session-check.ts";
import { AccessTokens } from "./access-token.ts";
import { AttemptQueue } from "./attempts.ts";
import { authContract } from "./auth.contract.ts";
import { checkPassword } from "./check-password.ts";
import { DeviceHints } from "./device-hints.ts";
import { login } from "./login.ts";
import { clearLockout, recognise, rememberOrigin } from "./recognise-origin.ts";
import { type LiveSession, SessionReader } from "./session-reader.ts";
import { countSignIn } from "./sign-in-counter.ts";
import { Slots } from "./slots.ts";
import { deleteRevokedSessions, sweepSessions } from "./sweep-sessions.ts";
import { expiredRows } from "./expired-rows.ts";

const partsOf = perRuntime(({ config, secrets, database: db }) => ({
  tokens: new AccessTokens(secrets.jwt, config.jwtPreviousSecrets, config.accessTokenTtlSeconds),
  sessions: new SessionReader(db),
  attempts: new AttemptQueue(),
  hints: new DeviceHints(secrets.jwt, config.jwtPreviousSecrets),
  slots: new Slots(secrets.jwt),
  perAddress: new RateLimit(db, "login", config.loginPerMinute, 60),
}));

async function authenticate(call: Call<{ token: string }>): Promise<SessionHolder> {
  const { holder, unsure } = await holderOf(call.runtime, call.params.token);
  if (unsure) throw new AskAnother();
  if (holder === null) throw sessionEnded();
  return holder;
}

/** The reader combines the reads of their sessions in one statement. */
function authenticateAll(call: Call<{ tokens: string[] }>) {
  return Promise.all(call.params.tokens.map((token) => holderOf(call.runtime, token)));
}

async function holderOf(
  runtime: Runtime,
  token: string,
): Promise<{ holder: SessionHolder | null; unsure: boolean }> {
  const { tokens, sessions } = partsOf(runtime);
  const sessionId = tokens.sessionOf(token);
  if (sessionId === undefined) {
    // During a change of JWT_SECRET another process may have the key. A token that may be valid elsewhere must
    // not get a 401.
    const foreignKey = tokens.unknownKeyOf(token);
    const unsure = foreignKey !== undefined && runtime.comparison.isTokenKeyElsewhere(foreignKey);
    return { holder: null, unsure };
  }
  const session = await sessions.read(sessionId);
  return { holder: session === undefined ? null : toHolder(session), unsure: false };
}

async function liveSessions(call: Call<{ session_ids: string[] }>): Promise<SessionHolder[]> {
  const { sessions } = partsOf(call.runtime);
  // The reader combines these reads in one statement.
  const found = await Promise.all(call.params.session_ids.map((id) => sessions.read(id)));
  return found.flatMap((session) => (session === undefined ? [] : [toHolder(session)]));
}

function toHolder({ id, ...facts }: LiveSession): SessionHolder {
  return { ...facts, session_id: id };
}

async function logout(call: Call<unknown>): Promise<void> {
  const { principal } = call.caller;
  if (principal.kind !== "user") throw new Unauthorized();
  const { tenantId, userId, sessionId } = principal;
  const end = async (change: Change) => {
    await change.execute(
      "update sessions set ended_at = now() where tenant_id = $1 and id = $2 and ended_at is null",
      [tenantId, sessionId],
    );
    change.audit({ tenantId, action: "auth.logout", target: { type: "user", id: userId } });
  };
  await call.db.change({ tenantId }, call.caller, end, { evenIfSignedOut: true });
}

const auth: ServiceSchema = {
  name: "auth",
  mixins: [
    database(),
    jobs({ tasks: { "auth.sweep": sweepSessions }, schedules: { "auth.sweep": "7 * * * *" } }),
    detectors("auth", { ...jobFaults("auth"), expired_rows_pile_up: expiredRows }),
    serviceMetrics(countSignIn),
  ],
  actions: implement(authContract, {
    "auth.login": async (call) => {
      const parts = partsOf(call.runtime);
      await parts.perAddress.take(addressKey(call.caller.facts.ip)).catch((error: unknown) => {
        if (error instanceof TooManyRequests) countSignIn(call.runtime)("rate_limited");
        throw error;
      });
      return login(call, parts);
    },
    "auth.logout": logout,
    "auth.authenticate": authenticate,
    "auth.authenticate_all": authenticateAll,
    "auth.live_sessions": liveSessions,
    "auth.recognise": (call) => recognise(call, partsOf(call.runtime)),
    "auth.check_password": checkPassword,
    "auth.remember_origin": rememberOrigin,
    "auth.clear_lockout": clearLockout,
  }),
  events: listen({ "users.sessions_ended": deleteRevokedSessions }),
  // Starts the hashing threads before the first sign-in.
  started(this: Service) {
    runtimeOf(this).hasher.start();
  },
};

export default auth;
