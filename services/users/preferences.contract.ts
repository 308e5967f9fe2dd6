// Each user's own preferences.
import { signedIn } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus.ts";
import { weights } from "../shared/limits/weights.ts";
import { nullable, optional } from "../shared/params/modifiers.ts";
import { json, object, timestamp } from "../shared/params/results.ts";
import { dictionary, oneOf } from "../shared/params/rules.ts";

export const themes = ["light", "dark", "system"] as const;

const settings = dictionary({ maxBytes: 65_536, maxDepth: 8 });
const result = object(
  { theme: oneOf(themes), settings: json(), updated_at: nullable(timestamp()) },
  { name: "Preferences" },
);

export const preferencesContract = {
  "preferences.get": {
    summary: "The signed-in user's preferences.",
    audits: "preferences.get",
    access: signedIn,
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

declare module "../shared/bus.ts" {
  interface Actions extends ActionsOf<typeof preferencesContract> {}
}
