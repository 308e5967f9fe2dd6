// How long it takes from a fault to its being healed, for each fix: broken on a running service with a small database, as the
// tests break it, looked for by the service's own job at once, mended by its own job, and verified. By the clock a fault waits
// for its interval besides. One after the other, so that no fault hides another.
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { faultOf, type Healable } from "../../../mixins/healing/catalogue.ts";
import { type BreakSite, breaks } from "../../api/self-healing/breaks.ts";
import { confirmAll } from "../../support/healing-watch.ts";
import { startBotApi } from "../../support/bot-api.ts";
import { callApi, demoPassword, people } from "../../support/service.ts";
import { judge, say } from "../report.ts";
import type { Stage } from "../stage.ts";

/** Of what is mended by the remedy itself; what a remedy has begun may take as long as the catalogue says besides. */
const healSecondsMax = 5;
/** Whatever takes longer is told as missed, and the next one begins. */
const waitSecondsMax = 150;
const lookAgainMs = 3_000;
const pollMs = 20;

export interface Looking {
  holdClock(owner: pg.Client): Promise<unknown>;
  lookOnce(owner: pg.Client, codes: readonly string[]): Promise<unknown>;
}

export async function timesToHeal(stage: Stage, looking: Looking): Promise<void> {
  const api = await startBotApi();
  const { service: first, owner, ownerUrl, settings } = await stage.scene("healing_times");
  await first.stop();
  const all = {
    ...settings,
    ...api.settings,
    TELEGRAM_WEBHOOK: "true",
    PUBLIC_URL: "https://127.0.0.1:9",
    WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8",
    IDLE_IN_TRANSACTION_MAX_SECONDS: "3",
  };
  const service = await stage.startService(all, "healing-times.log");
  try {
    await looking.holdClock(owner);
    await confirmAll(owner);
    const site = await openSite(`http://127.0.0.1:${service.captured}`, { owner, ownerUrl, settings: all });
    // Object.keys loses the names' type.
    const codes = Object.keys(breaks) as Healable[];
    const few = stage.size === "smallest" ? codes.slice(0, 2) : codes;
    say();
    for (const code of few) await timeOne(code, { ...site, api }, owner, looking);
  } finally {
    await service.stop();
    await api.stop();
  }
}

async function openSite(
  url: string,
  given: { owner: pg.Client; ownerUrl: string; settings: Record<string, string> },
): Promise<BreakSite> {
  const { owner, ownerUrl, settings } = given;
  const call: BreakSite["service"]["call"] = (method, path, options) => callApi(url, method, path, options);
  const [email, subdomain] = people.admin;
  const { body } = await call("POST", "/api/auth/login", {
    body: { email, password: demoPassword, subdomain },
  });
  const { rows } = await owner.query<{ id: number }>("select id from tenants where subdomain = $1", [
    subdomain,
  ]);
  return {
    service: { call, settings },
    databaseUrl: ownerUrl,
    clinic: { id: rows[0]?.id ?? 0, token: body.access_token },
    sql: async (text, values) => (await owner.query(text, values)).rows,
  };
}

async function timeOne(code: Healable, site: BreakSite, owner: pg.Client, looking: Looking): Promise<void> {
  const known = faultOf(code);
  const target = await breaks[code](site);
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1_000;
  const isHealed = async () => {
    const { rows } = await owner.query(
      "select from incidents where code = $1 and target = $2 and status = 'healed'",
      [code, target],
    );
    return rows.length > 0;
  };
  let healed = false;
  while (!healed && seconds() < waitSecondsMax) {
    await looking.lookOnce(owner, [code]);
    const lookAgainAt = performance.now() + lookAgainMs;
    while (!healed && performance.now() < lookAgainAt) {
      healed = await isHealed();
      if (!healed) await delay(pollMs);
    }
  }
  judge({
    claim: `${code}: broken, looked for at once, healed and verified (by the clock each ${known?.everyMinutes} min)`,
    measured: healed ? seconds() : Number.POSITIVE_INFINITY,
    sense: "at most",
    bound: healSecondsMax + (known?.settlesWithinS ?? 0),
    unit: "s",
  });
}
