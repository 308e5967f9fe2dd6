// Guessers from one address and from many, their neighbours, and the owner beside them: who is looked at, and how often.
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { reasonsOf } from "../support/journal.ts";
import { mailTo, subjects, tokenIn } from "../support/mailbox.ts";
import {
  addressOf,
  type Answer,
  callApi,
  demoPassword,
  runProcess,
  startService,
  type TestService,
} from "../support/service.ts";
import { makeClinic, makeUser, type Made } from "../support/tenancy.ts";

// The addresses are what a trusted proxy says; the rate of a minute is out of the way, that of a day is 20 times 500.
const settings = {
  TRUST_PROXY: "127.0.0.1",
  REQUEST_TIMEOUT_MS: "60000",
  ARGON2_QUEUE_MAX: "500",
  RATE_LOGIN_PER_MINUTE: "500",
};

// Hundreds of passwords are hashed here, on machines that others use too.
jest.setTimeout(120_000);

let service: TestService;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
beforeAll(async () => {
  service = await startService(settings);
  clinic = await makeClinic(service, await service.signIn("superadmin"));
});
afterAll(() => service.stop());

let owner: Made;
beforeEach(async () => {
  owner = await makeUser(service, clinic.token);
});

interface From {
  ip: string;
  device?: string;
  password?: string;
  email?: string;
}
const signIn = (from: From, url = service.url): Promise<Answer> =>
  callApi(url, "POST", "/api/auth/login", {
    body: {
      email: from.email ?? owner.email,
      password: from.password ?? demoPassword,
      subdomain: clinic.subdomain,
    },
    headers: {
      "x-forwarded-for": from.ip,
      ...(from.device === undefined ? {} : { "x-device-id": from.device }),
    },
  });
const guess = (ip: string, at: number, url?: string): Promise<Answer> =>
  signIn({ ip, password: `wrong-password-${at}` }, url);
const deviceOf = (answer: Answer) => answer.headers.get("x-device-id") ?? "";
const home = "198.51.100.7";
const hotel = "192.0.2.77";

/** Fifty at a time, as more of one address and account at once are told to come later. */
async function besiege(addresses: number, guesses: number, urls = [service.url]): Promise<void> {
  for (let first = 0; first < guesses; first += 50) {
    const wave = Array.from({ length: 50 }, (_, at) =>
      guess(`203.0.113.${(first + at) % addresses}`, first + at, urls[at % urls.length]),
    );
    const statuses = (await Promise.all(wave)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401]));
  }
}
const looked = () => reasonsOf(service, "auth.login", owner.id);

/** As if strangers had made so many guesses two hours ago. */
async function guessedBefore(failures: number): Promise<void> {
  const strangers = [[Math.floor(Date.now() / 3_600_000) - 2, failures]];
  await service.database.owner.query(
    `insert into lockouts as l (tenant_id, account, state) values ($1, $2, $3)
     on conflict (tenant_id, account) do update set state = excluded.state`,
    [clinic.id, `user:${owner.id}`, JSON.stringify({ strangers, origins: [] })],
  );
}

describe("200 wrong passwords from one address", () => {
  it("are ten that were looked at, and the owner signs in from anywhere else", async () => {
    const begun = performance.now();
    await besiege(1, 200);
    // A lock ends after one minute, the next after two more, and so on; on a busy machine 200 sign-ins take minutes.
    const locksEnded = Math.floor(Math.log2((performance.now() - begun) / 60_000 + 1));
    const { wrong_password = 0, locked_out = 0 } = await looked();
    expect(wrong_password + locked_out).toBe(200);
    expect(wrong_password).toBeGreaterThanOrEqual(10);
    expect(wrong_password).toBeLessThanOrEqual(10 + locksEnded);
    expect((await signIn({ ip: home })).status).toBe(200);
    expect((await signIn({ ip: hotel })).status).toBe(200);
    // Where a lock has just ended, this one begins the next.
    await guess("203.0.113.0", 200);
    expect((await signIn({ ip: "203.0.113.0" })).status).toBe(401);
  });
});

describe("200 wrong passwords from 50 addresses", () => {
  it("are 100 that were looked at, over two processes too", async () => {
    const folder = join(service.database.folder, "second");
    const second = runProcess({ ...service.settings, DATA_DIR: folder });
    try {
      await besiege(50, 200, [service.url, await addressOf(second)]);
      expect(await looked()).toEqual({ wrong_password: 100, account_spent: 100 });
    } finally {
      await second.stop();
    }
  });

  it("leave the door open to the owner's address and device, and shut to strangers with the right password", async () => {
    const first = await signIn({ ip: home });
    expect(first.status).toBe(200);
    const device = deviceOf(first);
    await besiege(50, 200);
    expect((await signIn({ ip: home })).status).toBe(200);
    const abroad = await signIn({ ip: hotel, device });
    expect(abroad.status).toBe(200);
    // From an address of which nobody knows and without the hint it is like a stranger's guess, byte for byte.
    const stranger = await signIn({ ip: "192.0.2.78" });
    expect(stranger.status).toBe(401);
    expect(stranger.body).toEqual((await guess("192.0.2.78", 0)).body);
    // The device has made the hotel's address known.
    expect((await signIn({ ip: hotel })).status).toBe(200);
    expect(await looked()).toEqual({ wrong_password: 100, account_spent: 102, ok: 4 });
  });

  it("leave the owner a way in from a new address: a password reset by mail", async () => {
    await guessedBefore(100);
    expect((await signIn({ ip: hotel })).status).toBe(401);
    const headers = { "x-forwarded-for": hotel };
    const body = { email: owner.email, subdomain: clinic.subdomain };
    expect((await service.call("POST", "/api/auth/request-reset", { body, headers })).status).toBe(202);
    const token = tokenIn(await mailTo(service, owner.email, subjects.reset));
    const reset = { token, new_password: "Quite-Another-Secret-8" };
    expect((await service.call("POST", "/api/auth/reset-password", { body: reset, headers })).status).toBe(
      200,
    );
    await guessedBefore(100);
    expect((await signIn({ ip: hotel, password: reset.new_password })).status).toBe(200);
  });
});

describe("a neighbour at the owner's own address", () => {
  it("locks the address for the account, and not the owner's device", async () => {
    const device = deviceOf(await signIn({ ip: home }));
    for (let at = 0; at < 12; at++) expect((await guess(home, at)).status).toBe(401);
    expect((await signIn({ ip: home })).status).toBe(401);
    expect((await signIn({ ip: home, device })).status).toBe(200);
    // Her success ends no lock but her device's own.
    expect((await signIn({ ip: home })).status).toBe(401);
    expect(await looked()).toEqual({ ok: 2, wrong_password: 10, locked_out: 4 });
  });

  it("takes nothing from what strangers may", async () => {
    await signIn({ ip: home });
    await guessedBefore(98);
    for (let at = 0; at < 8; at++) await guess(home, at);
    for (let at = 0; at < 4; at++) await guess(`203.0.113.${at}`, at);
    expect(await looked()).toEqual({ ok: 1, wrong_password: 10, account_spent: 2 });
  });
});

describe("a hint", () => {
  it("keeps its device's name and is renewed by each sign-in", async () => {
    const first = deviceOf(await signIn({ ip: home }));
    const second = deviceOf(await signIn({ ip: home, device: first }));
    expect(second.split(".")[0]).toBe(first.split(".")[0]);
    expect(deviceOf(await signIn({ ip: home })).split(".")[0]).not.toBe(first.split(".")[0]);
  });

  it("is worth nothing with another account, altered, or made up; and never a reason to refuse", async () => {
    const other = await makeUser(service, clinic.token);
    const theirs = deviceOf(await signIn({ ip: home, email: other.email }));
    const mine = deviceOf(await signIn({ ip: home }));
    await guessedBefore(100);
    const [name = "", ends = "", mac = ""] = mine.split(".");
    const worthless = [
      theirs,
      `${name}.${Number(ends) + 1}.${mac}`,
      `${name.slice(1)}x.${ends}.${mac}`,
      `${name}.${ends}.${mac.replace(/^./, (first) => (first === "A" ? "B" : "A"))}`,
      `${name}.${ends}.`,
      "",
      "x",
      "x".repeat(4_000),
      `${mine}, ${mine}`,
    ];
    for (const device of worthless)
      expect([device, (await signIn({ ip: hotel, device })).status]).toEqual([device, 401]);
    expect((await signIn({ ip: home, device: "x" })).status).toBe(200);
    expect((await signIn({ ip: hotel, device: mine })).status).toBe(200);
  });

  it("does not open: a wrong password with it is a failure of that device", async () => {
    const device = deviceOf(await signIn({ ip: home }));
    for (let at = 0; at < 10; at++)
      expect((await signIn({ ip: hotel, device, password: `wrong-${at}` })).status).toBe(401);
    expect((await signIn({ ip: hotel, device })).status).toBe(401);
    expect((await signIn({ ip: hotel })).status).toBe(200);
  });
});

describe("the addresses an account knows", () => {
  const known = async () => {
    const sql = "select address from known_origins where user_id = $1 order by seen_at desc, address";
    return (await service.database.owner.query(sql, [owner.id])).rows.map(({ address }) => address);
  };

  it("are the ten newest, a /64 of IPv6 is one, and failures make none", async () => {
    for (let host = 1; host <= 12; host++) await signIn({ ip: `198.51.100.${host}` });
    await guess("192.0.2.1", 1);
    for (const ip of ["2001:db8:7:7::1", "2001:db8:7:7:ffff::2"]) await signIn({ ip });
    const addresses = await known();
    expect(addresses).toHaveLength(10);
    expect(addresses[0]).toBe("2001:db8:7:7::/64");
    expect(addresses).toEqual(expect.arrayContaining(["198.51.100.12", "198.51.100.4"]));
    expect(addresses).not.toContain("192.0.2.1");
  });

  it("are forgotten after 90 days", async () => {
    await signIn({ ip: home });
    await service.database.owner.query(
      "update known_origins set seen_at = now() - interval '91 days' where user_id = $1",
      [owner.id],
    );
    await guessedBefore(100);
    expect((await signIn({ ip: home })).status).toBe(401);
  });
});

describe("one address against all accounts", () => {
  it("has 20 times its rate a day: then only accounts that know it are looked at", async () => {
    const spent = await makeUser(service, clinic.token);
    await signIn({ ip: hotel });
    const wrong = (email: string) => signIn({ ip: hotel, email, password: "wrong-password" });
    await wrong(spent.email);
    const { rows } = await service.database.owner.query(
      "select account, state from lockouts where account like 'address:%' order by updated_at desc limit 1",
    );
    expect(rows[0].state).toEqual([[expect.any(Number), 1]]);
    const [hour] = rows[0].state[0];
    await service.database.owner.query("update lockouts set state = $2 where account = $1", [
      rows[0].account,
      JSON.stringify([[hour - 3, 9_998]]),
    ]);
    await wrong(spent.email);
    await wrong("nobody@people.example");
    await wrong(spent.email);
    expect((await signIn({ ip: hotel, email: spent.email })).status).toBe(401);
    expect((await signIn({ ip: hotel })).status).toBe(200);
    expect((await signIn({ ip: home, email: spent.email })).status).toBe(200);
    expect(await reasonsOf(service, "auth.login", spent.id)).toEqual({
      wrong_password: 2,
      address_spent: 2,
      ok: 1,
    });
  });
});
