// Detects rows that the hourly sweep (sweep-sessions.ts) should have deleted days ago.
import { overdueRows } from "../../mixins/healing/overdue-rows.ts";

/** The detector `expired_rows_pile_up`. */
export const expiredRows = overdueRows("auth", "auth.sweep", [
  { what: "sessions", rows: "from sessions where expires_at < now() - interval '3 days'" },
  { what: "ended_sessions", rows: "from sessions where ended_at < now() - interval '3 days'" },
  { what: "lockouts", rows: "from lockouts where updated_at < now() - interval '4 days'" },
  { what: "mail_tokens", rows: "from mail_tokens where expires_at < now() - interval '2 days'" },
  {
    what: "rate_limits",
    rows: "from rate_limits where expire < extract(epoch from now() - interval '1 day') * 1000",
  },
]);
