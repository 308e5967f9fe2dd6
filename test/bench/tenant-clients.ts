// Clients of one tenant: tokens of its administrators, and the requests they send.
import type { Request } from "./clients.ts";
import { administrators, emailOf, password } from "./fill.ts";
import type { LoadResult } from "./load.ts";
import type { Stage } from "./stage.ts";

export const connections = 16;
const signInsAtOnce = 4;

export function signInRequest(path: string, subdomain: string, n: number): Request {
  return {
    method: "POST",
    path,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: emailOf(n), password, subdomain }),
  };
}

/** Signs in the tenant's administrators; the tokens differ, so nothing can be shared between requests. */
export async function tokensOf(
  stage: Stage,
  url: string,
  path: string,
  subdomain: string,
): Promise<string[]> {
  const requests = Array.from({ length: administrators }, (_, index) =>
    signInRequest(path, subdomain, index + 1),
  );
  const clients = stage.load.clients({ kind: "each", url, requests, connections: signInsAtOnce });
  const { bodies, failed } = await clients.result;
  if (failed > 0) throw new Error(`${failed} sign-ins at ${url}${path} failed`);
  return bodies.map((body) => (JSON.parse(body) as { access_token: string }).access_token);
}

export function getRequests(path: string, tokens: readonly string[]): Request[] {
  return tokens.map((token) => ({ method: "GET", path, headers: { authorization: `Bearer ${token}` } }));
}

/** Full-speed GETs of one path. */
export function getting(
  stage: Stage,
  url: string,
  path: string,
  tokens: readonly string[],
): (seconds: number) => Promise<LoadResult> {
  const requests = getRequests(path, tokens);
  return (seconds) => stage.load.run({ url, requests, connections, seconds });
}

/** Until the program is compiled as it will be: a fresh one must not be compared with one that has run for minutes. */
export async function warmUp(
  stage: Stage,
  url: string,
  paths: readonly string[],
  tokens: readonly string[],
): Promise<void> {
  const amount = Math.round(stage.pick(6_000, 6_000, 64) / paths.length);
  for (const path of paths)
    await stage.load.amount({ url, requests: getRequests(path, tokens), connections }, amount);
}
