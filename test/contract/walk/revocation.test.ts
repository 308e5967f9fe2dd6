// Rights are withdrawn while 10,000 requests run: what begins after the withdrawal was acknowledged is refused.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Attempt, latePasses, type Withdrawal } from "./history.ts";
import { type Person, World } from "./world.ts";

const requests = 10_000;
const width = 32;

describe("the judge", () => {
  const withdrawals: Withdrawal[] = [{ tokens: ["a", "b"], acknowledgedAt: 100 }];
  const attempts = (late: Attempt[]): Attempt[] => [
    ...Array.from({ length: requests }, (_, i) => ({
      token: "abc"[i % 3] ?? "",
      begunAt: i / 100,
      status: 200,
    })),
    ...late,
  ];

  it("finds nothing where every pass began before the acknowledgement", () => {
    expect(latePasses(attempts([{ token: "a", begunAt: 101, status: 401 }]), withdrawals)).toEqual([]);
  });

  it.each([
    ["a late pass", { token: "a", begunAt: 100.001, status: 200 }],
    ["a late pass of the other token", { token: "b", begunAt: 5000, status: 200 }],
    ["a late refusal for another reason", { token: "a", begunAt: 101, status: 403 }],
    ["a late failure", { token: "a", begunAt: 101, status: 500 }],
  ])("finds %s among 10,000", (_what, planted) => {
    expect(latePasses(attempts([planted]), withdrawals)).toEqual([planted]);
  });

  it("takes the earliest of two withdrawals", () => {
    const twice = [...withdrawals, { tokens: ["a"], acknowledgedAt: 500 }];
    const planted = { token: "a", begunAt: 200, status: 200 };
    expect(latePasses([planted], twice)).toEqual([planted]);
  });
});

describe("withdrawing", () => {
  let world: World;
  beforeAll(async () => {
    world = await World.open();
  });
  afterAll(() => world.stop());

  interface Holder {
    person: Person;
    tokens: string[];
  }

  async function holder(tenantId: number, role?: "admin"): Promise<Holder> {
    const person = await world.addUser(tenantId, role);
    return { person, tokens: [await world.openSession(person), await world.openSession(person)] };
  }

  async function calls(
    token: string | undefined,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<number> {
    const authorization: Record<string, string> =
      token === undefined ? {} : { authorization: `Bearer ${token}` };
    const headers = { ...authorization, "content-type": "application/json" };
    const sent = body === undefined ? undefined : JSON.stringify(body);
    return (await world.wire.send({ method, path, headers, body: sent })).status;
  }

  /** Each way to withdraw, on people of its own. `act` answers the status of the withdrawing call. */
  async function ways(admin: string, superadmin: string) {
    const demo = world.tenants.own.id;
    const [blocked, demoted, deleted, reset, signedOut] = await Promise.all(
      Array.from({ length: 5 }, () => holder(demo)),
    );
    const [off, gone] = [await world.addTenant(), await world.addTenant()];
    const [ofOff, ofGone] = [await holder(off.id, "admin"), await holder(gone.id)];
    if (!blocked || !demoted || !deleted || !reset || !signedOut) throw new Error("five were made");
    const mailToken = await world.addMailToken(reset.person, "reset_password");
    const user = ({ person }: Holder) => `/api/admin/users/${person.id}`;
    const [ended = "", kept = ""] = signedOut.tokens;
    return {
      kept,
      all: [
        { of: blocked.tokens, act: () => calls(admin, "POST", `${user(blocked)}/block`), status: 200 },
        {
          of: demoted.tokens,
          act: () => calls(admin, "PUT", `${user(demoted)}/role`, { role: "nurse" }),
          status: 200,
        },
        { of: deleted.tokens, act: () => calls(admin, "DELETE", user(deleted)), status: 204 },
        {
          of: reset.tokens,
          act: () =>
            calls(undefined, "POST", "/api/auth/reset-password", {
              token: mailToken,
              new_password: "Other-Horse-77",
            }),
          status: 200,
        },
        { of: [ended], act: () => calls(ended, "POST", "/api/auth/logout"), status: 204 },
        {
          of: ofOff.tokens,
          act: () => calls(superadmin, "PUT", `/api/admin/tenants/${off.id}`, { is_active: false }),
          status: 200,
        },
        {
          of: ofGone.tokens,
          act: () => calls(superadmin, "DELETE", `/api/admin/tenants/${gone.id}`),
          status: 204,
        },
      ],
    };
  }

  it("counts for every request begun after the acknowledgement: 0 of 10,000 pass", async () => {
    const { own, platform } = world.tenants;
    const admin = await world.openSession(await world.addUser(own.id, "admin"));
    const superadmin = await world.openSession(await world.addUser(platform.id, "superadmin"));
    const rounds = [
      await ways(admin, superadmin),
      await ways(admin, superadmin),
      await ways(admin, superadmin),
    ];
    const acts = rounds
      .flatMap(({ all }) => all)
      .sort((a, b) => a.status - b.status || a.of.length - b.of.length);
    const untouched = [admin, ...rounds.map(({ kept }) => kept)];
    const tokens = [...acts.flatMap(({ of }) => of), ...untouched];
    const attempts: Attempt[] = [];
    const withdrawals: Withdrawal[] = [];
    const refusals: number[] = [];
    const withdraw = async ({ of, act, status }: (typeof acts)[number]) => {
      const answered = await act();
      if (answered !== status) refusals.push(answered);
      withdrawals.push({ tokens: of, acknowledgedAt: performance.now() });
    };
    // Spread over the first four fifths, so that every token is tried often before and after.
    const due = new Map(acts.map((act, i) => [Math.floor((requests * 0.8 * (i + 1)) / acts.length), act]));
    const withdrawing: Promise<void>[] = [];
    let begun = 0;
    const next = async () => {
      while (begun < requests) {
        const act = due.get(begun);
        const token = tokens[begun++ % tokens.length] ?? "";
        if (act !== undefined) withdrawing.push(withdraw(act));
        const begunAt = performance.now();
        const status = await calls(token, "GET", "/api/users/me");
        attempts.push({ token, begunAt, status });
      }
    };
    await Promise.all(Array.from({ length: width }, next));
    await Promise.all(withdrawing);

    expect(refusals).toEqual([]);
    expect(withdrawals).toHaveLength(21);
    expect(attempts).toHaveLength(requests);
    expect(latePasses(attempts, withdrawals)).toEqual([]);
    // The run means something: every token was let in before and refused after, the untouched never refused.
    for (const { of } of acts) {
      for (const token of of) {
        const statuses = new Set(attempts.filter((each) => each.token === token).map(({ status }) => status));
        expect([...statuses].sort()).toEqual([200, 401]);
      }
    }
    for (const token of untouched) {
      expect(attempts.filter((each) => each.token === token && each.status !== 200)).toEqual([]);
    }
  });
});
