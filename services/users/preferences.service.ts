// Preferences of a user: one row for each user who ever set any, deleted with the user.
// Promises: settings are merged at the top level under the row's lock, so that two clients do not overwrite
// each other. The number of changes per hour is limited.
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { type Call, implement } from "../shared/bus/bus.ts";
import { Forbidden, Invalid } from "../shared/errors.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { RateLimit } from "../shared/rate-limits.ts";
import { toIso } from "../shared/wire.ts";
import { preferencesContract, type themes } from "./preferences.contract.ts";
import { mergeSettings, settingsBytesMax } from "./preferences.rules.ts";
import type { RowOf } from "../shared/database/row.ts";

type Theme = (typeof themes)[number];
type Stored = RowOf<
  "preferences",
  "theme" | "settings" | "updated_at",
  { settings: Record<string, unknown> }
>;
interface Answer {
  theme: Theme;
  settings: Record<string, unknown>;
  updated_at: string | null;
}

/**
 * 600 changes per hour and user, because each one is a permanent audit entry. Enough for a client that saves
 * while the user drags something.
 */
const changesOf = perRuntime(({ database: db }) => new RateLimit(db, "preferences", 600, 3_600));

const unset: Answer = { theme: "system", settings: {}, updated_at: null };

function ownerOf(call: Call<unknown>): { tenantId: number; userId: number } {
  const { principal } = call.caller;
  if (principal.kind !== "user") throw new Forbidden();
  return principal;
}

async function readPreferences(call: Call<unknown>): Promise<Answer> {
  const { tenantId, userId } = ownerOf(call);
  const row = await call.db.readOne<Stored>(
    { tenantId },
    {
      name: "preferences.get",
      text: "select theme, settings, updated_at from preferences where tenant_id = $1 and user_id = $2",
      values: [tenantId, userId],
    },
  );
  return row === undefined ? unset : { ...row, updated_at: toIso(row.updated_at) };
}

async function writePreferences(
  call: Call<{ theme?: Theme | undefined; settings?: Record<string, unknown> | undefined }>,
): Promise<Answer> {
  const { tenantId, userId } = ownerOf(call);
  const { theme, settings } = call.params;
  if (theme === undefined && settings === undefined) return readPreferences(call);
  await changesOf(call.runtime).take(String(userId));
  const row = await call.db.change({ tenantId }, call.caller, async (change) => {
    await change.execute(
      "insert into preferences (tenant_id, user_id, theme) values ($1, $2, $3) on conflict do nothing",
      [tenantId, userId, unset.theme],
    );
    const before = await change.one<Stored>(
      "select theme, settings, updated_at from preferences where tenant_id = $1 and user_id = $2 for update",
      [tenantId, userId],
    );
    const merged = mergeSettings(before.settings, settings ?? {});
    if (merged === undefined) throw Invalid.body("settings", `the settings exceed ${settingsBytesMax} bytes`);
    const after = await change.one<Stored>(
      `update preferences set theme = $1, settings = $2, updated_at = now() where tenant_id = $3 and user_id = $4
       returning theme, settings, updated_at`,
      [theme ?? before.theme, JSON.stringify(merged), tenantId, userId],
    );
    const changed = [
      ...(theme === undefined ? [] : ["theme"]),
      ...(settings === undefined ? [] : ["settings"]),
    ];
    change.audit({
      tenantId,
      action: "preferences.update",
      target: { type: "user", id: userId },
      changes: { fields: changed },
    });
    return after;
  });
  return { ...row, updated_at: toIso(row.updated_at) };
}

const preferences: ServiceSchema = {
  name: "preferences",
  mixins: [database()],
  actions: implement(preferencesContract, {
    "preferences.get": readPreferences,
    "preferences.update": writePreferences,
    "preferences.set_theme": writePreferences,
  }),
};

export default preferences;
