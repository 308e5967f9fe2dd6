// The password of the demo accounts. The published one is not used if other machines can reach the service: then a password is
// generated once and kept in the data folder.
import { needsOwnPassword, publishedDemoPassword } from "../../services/shared/demo-sign-in.ts";
import type { Config } from "../settings/settings.ts";

/** The name of the generated password in the data folder's secrets file. */
export const demoSecret = "demo";

/** `former`: passwords that earlier starts may have set, and that must no longer work. */
export interface DemoPasswords {
  current: string;
  former: readonly string[];
}

/** @param kept the generated password, from this start or an earlier one */
export function demoPasswords(config: Config, kept: string | undefined): DemoPasswords {
  // 120 bits, and short enough to be copied from a screen.
  const own = kept?.slice(0, 20);
  const current = needsOwnPassword(config) && own !== undefined ? own : config.demoPassword;
  const candidates = [publishedDemoPassword, ...(own === undefined ? [] : [own])];
  return { current, former: candidates.filter((each) => !config.demoMode || each !== current) };
}
