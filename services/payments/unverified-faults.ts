// Detects a provider whose signatures no longer verify although they did before: the provider changed its
// secret, but it was not changed here. A stranger who sends unsigned notifications causes no incident as long
// as a verified one arrives now and then.
import { platform } from "../shared/database/scope.ts";
import type { Detector } from "../../mixins/healing/port.ts";
import { textIn } from "../../mixins/healing/targets.ts";
import type { RowOf } from "../shared/database/row.ts";

/** Fewer may be the attempts of strangers. */
const unverifiedMin = 5;

type Row = RowOf<"payment_notifications", "provider", { unverified: number; since: string }>;

/** The detector `payments_unverified`; its target is `provider:<name>`. */
export const paymentsUnverified: Detector = {
  async find({ db }, { target }) {
    const one = target === undefined ? null : (textIn("provider", target) ?? "");
    // Uses the index of unverified notifications, and for verified ones the index by age, backwards: the
    // first of each provider is enough.
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
