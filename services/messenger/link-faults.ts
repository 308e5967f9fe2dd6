// Detects chats that are still linked to a user who was blocked or deleted. Triggers of the database end such
// links, and a job then notifies the chat. If one was missed, this remedy does the same.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import type { Remedy } from "../../mixins/healing/port.ts";
import { numberIn } from "../../mixins/healing/targets.ts";
import { endLinkOfUser, finishEnded } from "./end-link.ts";
import type { RowOf } from "../shared/database/row.ts";

const foundMax = 100;
/** The job of an ended link runs within seconds, and an hourly job covers all. */
const lateMinutes = 90;

type Row = RowOf<
  "messenger_links",
  "id" | "tenant_id" | "user_id",
  { why: "user_blocked" | "user_deleted" | "not_followed" }
>;

const leftBehind = `select l.id, l.tenant_id, l.user_id, case when l.ended_at is not null then 'not_followed'
    when u.deleted_at is not null then 'user_deleted' else 'user_blocked' end as why
  from messenger_links l join users u on u.tenant_id = l.tenant_id and u.id = l.user_id
  where ((l.ended_at is null and (u.deleted_at is not null or not u.is_active))
    or l.ended_at < now() - interval '${lateMinutes} minutes') and ($1::integer is null or l.id = $1)`;

/** The remedy `link_left_behind`; its target is `link:<id>`. */
export const linkLeftBehind: Remedy = {
  async find(site, { target }) {
    const one = target === undefined ? null : (numberIn("link", target) ?? 0);
    const rows = await site.db.read<Row>(platform, {
      name: "messenger.links_left",
      text: `${leftBehind} order by l.id limit ${foundMax}`,
      values: [one],
    });
    const all = await site.db.readOne<{ targets: number }>(platform, {
      name: "messenger.links",
      text: "select count(*)::integer as targets from messenger_links",
      values: [],
    });
    return {
      found: rows.map(({ id, tenant_id: tenantId, user_id: userId, why }) => ({
        target: `link:${id}`,
        tenantId,
        evidence: { user_id: userId, why },
      })),
      targets: all?.targets ?? 0,
    };
  },
  wouldDo: ({ evidence }) =>
    `Would unlink the chat of user ${String(evidence["user_id"])} (${String(evidence["why"])}), and say so there.`,
  async heal(site, target) {
    const id = numberIn("link", target) ?? 0;
    return site.db.change(platform, Caller.system("messenger"), async (change) => {
      const [row] = await change.execute<Row>(leftBehind, [id]);
      if (row === undefined) return { unlinked: 0 };
      const { tenant_id: tenantId, user_id: userId, why } = row;
      if (why === "not_followed") await finishEnded(change);
      else await endLinkOfUser(change, { tenantId, userId }, why);
      return { unlinked: 1 };
    });
  },
};
