// Whom a chat is told of: of the patients that its user may see at that moment, and of no others.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type BotApi, failure, sentTo, startBotApi } from "../../support/bot-api.ts";
import { linkChat, statusOf, subscribeTo } from "../../support/messenger.ts";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { makeClinic, makeDepartment, makeUser, unique } from "../../support/tenancy.ts";

let api: BotApi;
let service: TestService;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
let ward: number;
let surgery: number;
/** Sees all patients, and does what the others are told of. */
let chief: string;

beforeAll(async () => {
  api = await startBotApi();
  service = await startService(api.settings);
  const superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin);
  ward = (await makeDepartment(service, clinic.token)).id;
  surgery = (await makeDepartment(service, clinic.token)).id;
  const { email } = await makeUser(service, clinic.token, { role: "doctor", can_see_all_patients: true });
  chief = await service.signInAs(email, clinic.subdomain);
  await eventually(async () => (await statusOf(service, superadmin)).messenger === "ok");
});
afterAll(async () => {
  await service.stop();
  await api.stop();
});
beforeEach(() => {
  api.trouble = () => undefined;
});

interface Listener {
  id: number;
  token: string;
  chatId: number;
}

async function listener(facts: Record<string, unknown>, events = ["*"]): Promise<Listener> {
  const { id, email } = await makeUser(service, clinic.token, { role: "nurse", ...facts });
  const token = await service.signInAs(email, clinic.subdomain);
  const chatId = await linkChat(service, api, token);
  expect((await subscribeTo(service, token, events)).status).toBe(200);
  return { id, token, chatId };
}

const call = async (status: number, method: string, path: string, body?: unknown) => {
  const answer = await service.call(method, path, { token: chief, body });
  expect([answer.status, answer.body.code]).toEqual([status, undefined]);
  return answer.body;
};
const newPatient = (department_id: number | null) =>
  call(201, "POST", "/api/patients", { record_number: unique("R-"), full_name: "Some Body", department_id });
const newRecord = (id: number) =>
  call(201, "POST", `/api/patients/${id}/records`, { kind: "visit", body: "Felt better." });

/** The kinds a chat was told about the patient, in the order in which it was told. */
const toldOf = ({ chatId }: Listener, patientId: number): string[] =>
  sentTo(api, chatId).flatMap((text) => {
    const kind = /\(([a-z_.]+)\)\n/.exec(text)?.[1];
    return kind !== undefined && text.includes(`patient_id: ${patientId}\n`) ? [kind] : [];
  });
const untilTold = (who: Listener, patientId: number, ...kinds: string[]) =>
  eventually(async () => toldOf(who, patientId).join() === kinds.join());

/** Deliveries about patients that were ever made for the chat, as states. */
const deliveriesOf = async ({ id }: Listener): Promise<string[]> => {
  const { rows } = await service.database.owner.query(
    `select d.state from deliveries d join messenger_links l on l.tenant_id = d.tenant_id and l.id = d.target_id
     where l.user_id = $1 and d.kind ~ '^(patient|record)' order by d.seq`,
    [id],
  );
  return rows.map(({ state }) => state);
};
/** All that has happened so far has become deliveries, or none. */
const fannedOut = () =>
  eventually(async () => {
    const { rows } = await service.database.owner.query("select count(*)::integer as n from fan_out_queue");
    return rows[0].n === 0;
  });

describe("a patient of a department", () => {
  it("is told of to its members and to who sees all, to nobody else, whatever the role", async () => {
    const [member, seer] = [
      await listener({ department_id: ward }),
      await listener({ role: "admin", can_see_all_patients: true }),
    ];
    const others = [
      await listener({ department_id: surgery }),
      await listener({}),
      await listener({ role: "head_doctor", department_id: surgery }),
      await listener({ role: "admin" }, ["patient.created", "patient.deleted", "record.created"]),
    ];
    const { id } = await newPatient(ward);
    await newRecord(id);
    await call(200, "PUT", `/api/patients/${id}`, { version: 1, notes: "Changed." });
    await call(204, "DELETE", `/api/patients/${id}`);
    const kinds = ["patient.created", "record.created", "patient.updated", "patient.deleted"];
    await untilTold(member, id, ...kinds);
    await untilTold(seer, id, ...kinds);
    await fannedOut();
    // Not even a delivery is made for who may not see the patient.
    for (const other of others) {
      expect(await deliveriesOf(other)).toEqual([]);
      expect(toldOf(other, id)).toEqual([]);
    }
  });

  it("that is moved is told of where it has come, and no longer where it was", async () => {
    const [before, after] = [
      await listener({ department_id: ward }),
      await listener({ department_id: surgery }),
    ];
    const { id } = await newPatient(ward);
    await untilTold(before, id, "patient.created");
    await call(200, "PUT", `/api/patients/${id}`, { version: 1, department_id: surgery });
    await untilTold(after, id, "patient.updated");
    await newRecord(id);
    await untilTold(after, id, "patient.updated", "record.created");
    await fannedOut();
    expect(toldOf(before, id)).toEqual(["patient.created"]);
    expect(await deliveriesOf(before)).toHaveLength(1);
  });

  it("that is moved while a message of it waits: the message is not sent any more", async () => {
    const [before, after] = [
      await listener({ department_id: ward }),
      await listener({ department_id: surgery }),
    ];
    api.trouble = (method, { chat_id: to }) =>
      method === "sendMessage" && to === before.chatId ? failure(500, "Internal Server Error") : undefined;
    const { id } = await newPatient(ward);
    await eventually(async () => (await deliveriesOf(before)).join() === "pending");
    await call(200, "PUT", `/api/patients/${id}`, { version: 1, department_id: surgery });
    await untilTold(after, id, "patient.updated");
    api.trouble = () => undefined;
    await eventually(async () => (await deliveriesOf(before)).join() === "canceled");
    expect(toldOf(before, id)).toEqual([]);
    const { rows } = await service.database.owner.query(
      `select a.error from delivery_attempts a join deliveries d on d.id = a.delivery_id
       join messenger_links l on l.tenant_id = d.tenant_id and l.id = d.target_id
       where l.user_id = $1 order by a.id desc limit 1`,
      [before.id],
    );
    expect(rows).toEqual([{ error: "not_visible" }]);
  });
});

describe("a patient of no department", () => {
  it("is told of to who sees all alone", async () => {
    const [none, seer] = [await listener({}), await listener({ can_see_all_patients: true })];
    const { id } = await newPatient(null);
    await untilTold(seer, id, "patient.created");
    await fannedOut();
    expect(await deliveriesOf(none)).toEqual([]);
  });
});

describe("who sees other patients than before", () => {
  it("is told of them from then on", async () => {
    const person = await listener({ department_id: surgery });
    const { id } = await newPatient(ward);
    const letSee = (all: boolean) =>
      service.database.owner.query("update users set can_see_all_patients = $2 where id = $1", [
        person.id,
        all,
      ]);
    await fannedOut();
    await letSee(true);
    await newRecord(id);
    await untilTold(person, id, "record.created");
    await letSee(false);
    await newRecord(id);
    await fannedOut();
    expect(await deliveriesOf(person)).toHaveLength(1);
  });
});

describe("an event that does not say which patient it is of", () => {
  it.each([[{}], [{ patient_id: "1 or true" }], [{ patient_id: 99_999_999_999 }], [{ patient_id: null }]])(
    "%j is told to nobody and holds nothing up",
    async (payload) => {
      const seer = await listener({ can_see_all_patients: true });
      const text = "insert into events (tenant_id, kind, payload) values ($1, 'patient.updated', $2)";
      await service.database.owner.query(text, [clinic.id, JSON.stringify(payload)]);
      const { id } = await newPatient(ward);
      await untilTold(seer, id, "patient.created");
      expect(await deliveriesOf(seer)).toHaveLength(1);
    },
  );
});
