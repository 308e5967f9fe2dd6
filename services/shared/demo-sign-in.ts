// The published password of the demo sign-ins, and where it is in use.
import { isLoopback } from "./loopback.ts";

/** Published, so it must never open a production system; it passes the password policy. */
export const publishedDemoPassword = "Open-Sesame-4711";

/** Where other machines reach the service, a password that everybody can read opens nothing. */
export function usesPublishedPassword({ demoMode, demoPassword, host }: DemoFacts): boolean {
  return demoMode && demoPassword === publishedDemoPassword && isLoopback(host);
}

/** The demo sign-ins get a password of their own, made once. */
export function needsOwnPassword({ demoMode, demoPassword, host }: DemoFacts): boolean {
  return demoMode && demoPassword === publishedDemoPassword && !isLoopback(host);
}

interface DemoFacts {
  demoMode: boolean;
  demoPassword: string;
  host: string;
}
