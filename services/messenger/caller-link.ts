// Common parts of the actions: the caller's account, the configured bot, and the status of the caller's link.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { Conflict, Forbidden } from "../shared/errors.ts";
import type { Role } from "../shared/roles.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { toIso } from "../shared/wire.ts";
import { type Bot, botOf } from "./bot.ts";
import type { MessengerStatus } from "./messenger.contract.ts";
import type { RowOf } from "../shared/database/row.ts";

/** The caller's account. */
export interface Account {
  tenantId: number;
  userId: number;
  role: Role;
}

/** @throws Forbidden for operators and the system, which have no account */
export function accountOf({ caller }: Call<unknown>): Account {
  const { principal } = caller;
  if (principal.kind !== "user") throw new Forbidden();
  return { tenantId: principal.tenantId, userId: principal.userId, role: principal.role };
}

/** @throws Conflict `messenger_off` when no bot is configured, because a retry would not help */
export function configuredBot(runtime: Runtime): Bot {
  const bot = botOf(runtime);
  if (bot === undefined) throw new Conflict("messenger_off", "No messenger is set up in this installation");
  return bot;
}

type Row = RowOf<"messenger_links", "display_name" | "linked_at" | "events">;

/** Answers `messenger.status`. */
export async function readStatus(runtime: Runtime, { tenantId, userId }: Account): Promise<MessengerStatus> {
  const [link, conversation] = await Promise.all([
    runtime.database.readOne<Row>(
      { tenantId },
      {
        name: "messenger.own_link",
        text: `select display_name, linked_at, events from messenger_links
          where tenant_id = $1 and user_id = $2 and ended_at is null`,
        values: [tenantId, userId],
      },
    ),
    readConnection(runtime),
  ]);
  return {
    linked: link !== undefined,
    provider: "telegram",
    display_name: link?.display_name ?? null,
    linked_at: link === undefined ? null : toIso(link.linked_at),
    events: link?.events ?? [],
    messenger: conversation.state,
    bot: conversation.bot,
  };
}

/** The state of the connection as stored by the process that holds the lease. */
export async function readConnection(
  runtime: Runtime,
): Promise<{ state: MessengerStatus["messenger"]; bot: string | null }> {
  const bot = botOf(runtime);
  if (bot === undefined) return { state: "off", bot: null };
  const row = await runtime.database.readOne<RowOf<"messenger_bots", "username", { is_ok: boolean | null }>>(
    platform,
    {
      name: "messenger.conversation",
      text: "select state = 'ok' and leased_until > now() as is_ok, username from messenger_bots where bot = $1",
      values: [bot.key],
    },
  );
  return { state: row?.is_ok === true ? "ok" : "down", bot: row?.username ?? null };
}
