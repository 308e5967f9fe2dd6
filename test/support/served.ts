// Calls of processes that have just started: nodes hear of each other's services within a second or so, and answer 503 until then.
import { type Answer, callApi, type CallOptions, demoPassword, eventually, people } from "./service.ts";

/** @returns the first answer that is not 503 */
export function served(url: string, method: string, path: string, options?: CallOptions): Promise<Answer> {
  return eventually(async () => {
    const answer = await callApi(url, method, path, options);
    return answer.status !== 503 && answer;
  });
}

/** @returns the access token. @throws Error when a sign-in is refused */
export async function signInServed(
  url: string,
  [email, subdomain]: readonly [email: string, subdomain: string] = people.superadmin,
  password = demoPassword,
): Promise<string> {
  const { status, body } = await served(url, "POST", "/api/auth/login", {
    body: { email, subdomain, password },
  });
  if (status !== 200) throw new Error(`the sign-in was refused: ${status} ${JSON.stringify(body)}`);
  return body.access_token;
}
