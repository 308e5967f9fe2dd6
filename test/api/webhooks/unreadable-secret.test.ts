// A webhook whose secret does not open, altered in the database or its key lost: nothing is sent without a signature,
// others are not held up, and a new secret mends it.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { makeClinic } from "../../support/tenancy.ts";
import { type Received, type Receiver, startReceiver, verified } from "../../support/webhooks.ts";

let service: TestService;
let receiver: Receiver;
let token: string;

beforeAll(async () => {
  const settings = {
    WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8",
    WEBHOOK_RETRY_SECONDS: `0${",1".repeat(20)}`,
    KEYS_HELD_SECONDS: "1",
  };
  [service, receiver] = await Promise.all([startService(settings), startReceiver()]);
  ({ token } = await makeClinic(service, await service.signIn("superadmin")));
});
afterAll(async () => {
  await receiver?.stop();
  await service?.stop();
});

const rowsOf = async (sql: string, values: unknown[]) =>
  (await service.database.owner.query(sql, values)).rows;
const register = async (path: string, secret: string): Promise<number> => {
  const body = { url: `${receiver.url}/${path}`, events: ["department.created"], secret };
  const answer = await service.call("POST", "/api/webhooks/register", { token, body });
  expect(answer.status).toBe(201);
  return answer.body.id;
};
const put = (id: number, body: unknown) => service.call("PUT", `/api/webhooks/${id}`, { token, body });
const test = (id: number) => service.call("POST", `/api/webhooks/${id}/test`, { token });
const createDepartment = (name: string) =>
  service.call("POST", "/api/admin/departments", { token, body: { name } });
const arrived = (path: string): Promise<Received> =>
  eventually(async () => receiver.received.find((each) => each.path === `/${path}`) ?? false);
const signaturesOf = ({ headers }: Received) => String(headers["webhook-signature"]).split(" ").length;

const breakages: [string, string, string][] = [
  ["altered", "altered", "overlay(secret placing '\\xffff' from 25)"],
  ["of a key that nobody has", "lost-key", "overlay(secret placing '\\x77359400' from 2)"],
  ["no sealed text at all", "no-text", "'\\x0102'"],
];

describe.each(breakages)("a secret that is %s", (_what, path, broken) => {
  it("sends nothing, holds up nobody, and is mended by a new one that counts at once", async () => {
    const [old, fresh, others] = [
      `the old secret ${path}`,
      `the new secret ${path}`,
      "the secret of the other",
    ];
    const id = await register(path, old);
    await register(`beside-${path}`, others);
    await rowsOf(`update webhooks set secret = ${broken} where id = $1`, [id]);

    const tested = await test(id);
    expect([tested.status, tested.body.code]).toEqual([503, "sealed_field_unreadable"]);
    await createDepartment(`Unit ${path}`);
    verified(others, await arrived(`beside-${path}`));
    await eventually(async () => {
      const attempts = await rowsOf(
        `select a.error, a.status_code from delivery_attempts a join deliveries d on d.id = a.delivery_id
         where d.target_id = $1`,
        [id],
      );
      for (const each of attempts) expect(each).toEqual({ error: "secret_unreadable", status_code: null });
      return attempts.length > 1;
    });
    expect(receiver.received.filter((each) => each.path === `/${path}`)).toEqual([]);

    expect((await put(id, { events: ["department.created", "user.created"] })).status).toBe(200);
    expect((await put(id, { secret: fresh })).status).toBe(200);
    expect(
      await rowsOf("select previous_secret, previous_secret_until from webhooks where id = $1", [id]),
    ).toEqual([{ previous_secret: null, previous_secret_until: null }]);
    const received = await arrived(path);
    expect(verified(fresh, received).type).toBe("department.created");
    expect(signaturesOf(received)).toBe(1);
    expect((await test(id)).body).toMatchObject({ delivered: true });
    expect(service.process.output()).toContain("a webhook's secret does not open");
  });
});

describe("a previous secret that does not open", () => {
  it("leaves the present one to sign alone", async () => {
    const id = await register("previous", "the first secret");
    await put(id, { secret: "the second secret" });
    await rowsOf(
      "update webhooks set previous_secret = overlay(previous_secret placing '\\xffff' from 25) where id = $1",
      [id],
    );
    expect((await test(id)).body).toMatchObject({ delivered: true });
    const received = await arrived("previous");
    verified("the second secret", received);
    expect(signaturesOf(received)).toBe(1);
    receiver.received.length = 0;
    await createDepartment("Unit of the previous");
    verified("the second secret", await arrived("previous"));
    expect((await put(id, { secret: "the third secret" })).status).toBe(200);
    expect((await test(id)).body).toMatchObject({ delivered: true });
  });
});
