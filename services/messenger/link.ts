// Linking and unlinking the caller's chat.
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { BadRequest, Conflict, Unauthorized } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { RateLimit } from "../shared/rate-limits.ts";
import { hashCode, readCode } from "./code.rules.ts";
import { endLinkOfUser } from "./end-link.ts";
import type { MessengerStatus } from "./messenger.contract.ts";
import { type Account, accountOf, configuredBot, readStatus } from "./caller-link.ts";
import { enqueueReply } from "./enqueue-reply.ts";
import type { RowOf } from "../shared/database/row.ts";

/** A code names a chat but no user, so attempts are counted per user: five in ten minutes, right or wrong. */
const attemptsOf = perRuntime(({ database }) => new RateLimit(database, "messenger_link", 5, 600));

const alreadyLinked = () => new Conflict("already_linked", "The account or the chat is already linked");

/**
 * Links the caller with the chat that shows this code.
 * @throws BadRequest `invalid_code`, Conflict `already_linked` or `messenger_off`, TooManyRequests
 */
export async function linkAccount(call: Call<{ code: string }>): Promise<MessengerStatus> {
  const { codeKey } = configuredBot(call.runtime);
  const account = accountOf(call);
  await attemptsOf(call.runtime).take(`${account.tenantId}:${account.userId}`);
  const code = readCode(call.params.code);
  // A malformed code gets the same answer as a wrong one.
  const hash = hashCode(codeKey, code ?? "");
  const linked = call.db.change(platform, call.caller, (change) => link(change, account, hash));
  const violations = { messenger_links_chat: alreadyLinked, messenger_links_user: alreadyLinked };
  await mapViolations(violations, linked);
  return readStatus(call.runtime, account);
}

async function link(change: Change, { tenantId, userId }: Account, hash: Buffer): Promise<void> {
  // Locked until the commit, so that a concurrent block, deletion or second link of the user is serialised.
  const [user] = await change.execute(
    `select u.id from users u join tenants t on t.id = u.tenant_id and t.is_active and t.deleted_at is null
     where u.tenant_id = $1 and u.id = $2 and u.is_active and u.deleted_at is null for no key update of u for share of t`,
    [tenantId, userId],
  );
  if (user === undefined) throw new Unauthorized();
  const [existing] = await change.execute(
    "select id from messenger_links where tenant_id = $1 and user_id = $2 and ended_at is null",
    [tenantId, userId],
  );
  if (existing !== undefined) throw alreadyLinked();
  // Deleting the row uses the code: of several concurrent attempts one succeeds.
  const [chat] = await change.execute<RowOf<"messenger_codes", "chat_id" | "display_name">>(
    "delete from messenger_codes where code_hash = $1 and expires_at > now() returning chat_id, display_name",
    [hash],
  );
  if (chat === undefined) throw new BadRequest("invalid_code", "The code is invalid or expired");
  const [target] = await change.execute<RowOf<"delivery_targets", "id">>(
    `insert into delivery_targets (tenant_id, channel, events, is_active) values ($1, 'messenger', '{}', false)
     returning id`,
    [tenantId],
  );
  await change.execute(
    "insert into messenger_links (id, tenant_id, user_id, chat_id, display_name) values ($1, $2, $3, $4, $5)",
    [target?.id, tenantId, userId, chat.chat_id, chat.display_name],
  );
  await enqueueReply(change, Number(chat.chat_id), "linked");
  change.audit({ tenantId, action: "messenger.link", target: { type: "user", id: userId } });
}

/** Ends the caller's link, if there is one. */
export async function unlinkAccount(call: Call<unknown>): Promise<MessengerStatus> {
  const account = accountOf(call);
  const { tenantId } = account;
  await call.db.change({ tenantId }, call.caller, (change) => endLinkOfUser(change, account, "user"));
  return readStatus(call.runtime, account);
}
