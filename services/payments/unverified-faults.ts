// Notifications whose signature is not good any more, of a provider whose signatures were: its secret was changed there and not
// here. Whoever sends unsigned things opens no incident by it, as long as a verified one comes now and then.
import { platform } from "../shared/database/scope.ts";
import type { Detector } from "../../mixins/healing/port.ts";
import { textIn } from "../../mixins/healing/targets.ts";
import type { RowOf } from "../shared/database/row.ts";

/** Fewer may be anybody's tries. */
const unverifiedMin = 5;

type Row = RowOf<"payment_notifications", "provider", { unverified: number; since: string }>;

export const paymentsUnverified: Detector = {
  async find({ db }, { target }) {
    const one = target === undefined ? null : (textIn("provider", target) ?? "");
    // By the index of unverified ones, and backwards by age for the verified: the first of each provider is enough.
    const rows = await db.read<Row>(platform, {
      name: "payments.unverified_of_late",
      text: `select u.provider, u.unverified, u.since from (
          select provider, count(*)::integer as unverified, min(received_at) as since from payment_notifications
          where state = 'unverified' and received_at > now() - interval '1 hour' group by provider) u
        where u.unverified >= ${unverifiedMin} and ($1::text is null or u.provider = $1)
          and not exists (select from payment_notifications n where n.provider = u.provider and n.state <> 'unverified'
            and n.received_at >= u.since)
          and exists (select from payment_notifications n where n.provider = u.provider and n.state <> 'unverified'
            and n.received_at > now() - interval '7 days')
        order by 1 limit 10`,
      values: [one],
    });
    return {
      found: rows.map(({ provider, unverified, since }) => ({
        target: `provider:${provider}`,
        tenantId: null,
        evidence: { unverified, since: new Date(since).toISOString() },
      })),
    };
  },
};
