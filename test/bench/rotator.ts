// Starts rotations over HTTP as the superadmin and watches them.
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { demoPassword } from "../support/service.ts";

const pollMs = 20;
const finishMsMax = 240_000;

export interface RotationState {
  rows_total: number;
  rows_done: number;
  status: string;
}

export class Rotator {
  readonly #url: string;
  readonly #headers: Record<string, string>;

  private constructor(url: string, token: string) {
    this.#url = url;
    this.#headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  }

  static async at(url: string): Promise<Rotator> {
    const body = JSON.stringify({
      subdomain: "platform",
      email: "admin@platform.example",
      password: demoPassword,
    });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${url}/api/auth/login`, { method: "POST", headers, body });
    const { access_token: token } = (await answer.json()) as { access_token: string };
    return new Rotator(url, token);
  }

  /** @returns how long the answer took, in ms */
  async start(): Promise<number> {
    const startedAt = performance.now();
    const body = JSON.stringify({ new_key: randomBytes(32).toString("base64") });
    const answer = await fetch(`${this.#url}/api/admin/encryption/rotate`, {
      method: "POST",
      headers: this.#headers,
      body,
    });
    if (answer.status !== 200) throw new Error(`the rotation answered ${answer.status}`);
    return performance.now() - startedAt;
  }

  async state(): Promise<RotationState> {
    const answer = await fetch(`${this.#url}/api/admin/encryption/status`, { headers: this.#headers });
    const { rotation } = (await answer.json()) as { rotation: RotationState };
    return rotation;
  }

  /** @returns ms until every row was sealed anew; the end is a matter of the keys' holders */
  async finished(): Promise<number> {
    const startedAt = performance.now();
    let sealedMs = 0;
    for (let now = startedAt; now - startedAt < finishMsMax; now = performance.now()) {
      const state = await this.state();
      if (sealedMs === 0 && state.rows_done >= state.rows_total) sealedMs = performance.now() - startedAt;
      if (state.status === "finished") return sealedMs;
      await delay(pollMs);
    }
    throw new Error("the rotation did not finish");
  }
}
