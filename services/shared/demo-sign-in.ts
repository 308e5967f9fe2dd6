// The published password of the demo accounts, and where it is used.
import { isLoopback } from "./loopback.ts";

/** Published, so it must never be valid in production. It satisfies the password policy. */
export const publishedDemoPassword = "Open-Sesame-4711";

/** Whether the published password is used: only if no other machine can reach the service. */
export function usesPublishedPassword({ demoMode, demoPassword, host }: DemoFacts): boolean {
  return demoMode && demoPassword === publishedDemoPassword && isLoopback(host);
}

/** Whether the demo accounts need a generated password. */
export function needsOwnPassword({ demoMode, demoPassword, host }: DemoFacts): boolean {
  return demoMode && demoPassword === publishedDemoPassword && !isLoopback(host);
}

interface DemoFacts {
  demoMode: boolean;
  demoPassword: string;
  host: string;
}
