// The password of the demo sign-ins. The published one opens nothing where other machines reach the service: there they get
// one that is made once and kept in the data folder.
import { needsOwnPassword, publishedDemoPassword } from "../../services/shared/demo-sign-in.ts";
import type { Config } from "../settings/settings.ts";

/** Its name in the data folder's file of secrets. */
export const demoSecret = "demo";

/** `former` are those that earlier starts may have given the demo sign-ins, and that are not to open any more. */
export interface DemoPasswords {
  current: string;
  former: readonly string[];
}

/** @param kept what an earlier start, or this one, made for them */
export function demoPasswords(config: Config, kept: string | undefined): DemoPasswords {
  // 120 bits, and short enough to be copied from a screen.
  const own = kept?.slice(0, 20);
  const current = needsOwnPassword(config) && own !== undefined ? own : config.demoPassword;
  const candidates = [publishedDemoPassword, ...(own === undefined ? [] : [own])];
  return { current, former: candidates.filter((each) => !config.demoMode || each !== current) };
}
