// Each user's own preferences.
import { signedIn } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { weights } from "../shared/limits/weights.ts";
import { nullable, optional } from "../shared/params/modifiers.ts";
import { object, timestamp } from "../shared/params/results.ts";
import { dictionary, oneOf } from "../shared/params/rules.ts";
import { settingsBytesMax } from "./preferences.rules.ts";

export const themes = ["light", "dark", "system"] as const;

const bounds =
  "At most 65 536 bytes as JSON in UTF-8, and 8 levels, of which the object itself is the first.";
const free = { maxBytes: settingsBytesMax, maxDepth: 8, name: "PreferenceSettings" };
const settings = dictionary({
  ...free,
  description: `Any JSON by any key. Merged at the top level, null removes a key. ${bounds} What comes of it may be no larger.`,
});
const storedSettings = dictionary({
  ...free,
  description: `Any JSON by any key; null under none of the first level. ${bounds}`,
});
const result = object(
  { theme: oneOf(themes), settings: storedSettings, updated_at: nullable(timestamp()) },
  { name: "Preferences" },
);

export const preferencesContract = {
  "preferences.get": {
    summary: "The signed-in user's preferences.",
    audits: "preferences.get",
    access: signedIn,
    repeatable: true,
    result,
  },
  "preferences.update": {
    summary: "Sets theme and settings; settings are merged at the top level, null removes a key.",
    audits: "preferences.update",
    access: signedIn,
    weight: weights.setting,
    example: { theme: "dark", settings: { rows: 50 } },
    body: { theme: optional(oneOf(themes)), settings: optional(settings) },
    result,
  },
  "preferences.set_theme": {
    summary: "Sets the theme.",
    audits: "preferences.update",
    access: signedIn,
    weight: weights.setting,
    example: { theme: "dark" },
    body: { theme: oneOf(themes) },
    result,
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof preferencesContract> {}
}
