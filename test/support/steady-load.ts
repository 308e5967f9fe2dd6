// Requests at a steady rate, whatever becomes of the earlier ones: half of them read, half write, and every answer is
// looked at. Says how many failed and how long the longest waited, of those that were begun in a stretch of time.
import { randomBytes } from "node:crypto";
import { signInAt } from "./cluster.ts";
import { type Answer, callApi, type CallOptions, eventually, type TestDatabase } from "./service.ts";

export interface Stretch {
  sent: number;
  failed: number;
  /** From a request to its answer, of those that failed too. */
  longestMs: number;
  /** Which it was. */
  slowest: string;
  /** What failed, and how: for whoever reads the report of a failed test. */
  failures: string[];
  /** From the stretch's begin until the last one that failed was begun; 0 where none did. */
  lastFailedMs: number;
}

interface Sample {
  what: string;
  begunAt: number;
  endedAt: number;
  failure: string | undefined;
}

export interface LoadOptions {
  /** A gateway's address. */
  url: string;
  token: string;
  perSecond: number;
  patientId: number;
  departmentIds: readonly number[];
}

type Call = (method: string, path: string, options?: CallOptions) => Promise<Answer>;

/** What a load needs to be there: an administrator's token, a patient of whom it takes notes, departments that it names. */
export async function loadScene(
  call: Call,
  { owner }: Pick<TestDatabase, "owner">,
): Promise<Pick<LoadOptions, "token" | "patientId" | "departmentIds">> {
  const token = await signInAt({ call }, "admin");
  await owner.query("update users set can_see_all_patients = true where role = 'admin'");
  const body = { record_number: "R-4711", full_name: "Some Body" };
  const created = await eventually(async () => {
    const answer = await call("POST", "/api/patients", { token, body });
    return answer.status === 201 && answer.body;
  });
  const departments = await call("GET", "/api/admin/departments", { token });
  const departmentIds = departments.body.items.map(({ id }: { id: number }) => id);
  return { token, patientId: created.id, departmentIds };
}

/** Changes of preferences are counted per user and hour: several loads in a row would come to their end. */
export async function forgetCounts({ owner }: Pick<TestDatabase, "owner">): Promise<void> {
  await owner.query("delete from rate_limits where key like 'preferences%'");
}

/** What is asked, in turn. */
const kinds = ["me", "users", "notes", "theme", "department", "note"];

export class SteadyLoad {
  readonly #options: LoadOptions;
  readonly #samples: Sample[] = [];
  readonly #open = new Set<Promise<void>>();
  readonly #begunAt = performance.now();
  readonly #timer: NodeJS.Timeout;
  /** The notes of which the service said that they are kept. */
  readonly acknowledged: string[] = [];
  /** Several loads may write to one patient. */
  readonly #name = randomBytes(4).toString("hex");
  #number = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#catchUp(), 1_000 / options.perSecond);
  }

  /** Resolves after a second in which nothing failed. */
  async warm(): Promise<void> {
    await eventually(async () => {
      const from = performance.now();
      return (await this.stretch(from, from + 1_000)).failed === 0;
    });
  }

  /** Those begun between the two moments; resolves when each has its answer. */
  async stretch(fromMs: number, untilMs: number): Promise<Stretch> {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, untilMs - performance.now())));
    await Promise.all(this.#open);
    const samples = this.#samples.filter(({ begunAt }) => begunAt >= fromMs && begunAt < untilMs);
    const failed = samples.filter(({ failure }) => failure !== undefined);
    const failures = failed.map(({ failure = "" }) => failure);
    const waitOf = ({ begunAt, endedAt }: Sample) => endedAt - begunAt;
    const [slowest] = samples.toSorted((one, other) => waitOf(other) - waitOf(one));
    return {
      sent: samples.length,
      failed: failures.length,
      longestMs: slowest === undefined ? 0 : Math.round(waitOf(slowest)),
      slowest:
        slowest === undefined
          ? ""
          : `${slowest.what}, begun after ${Math.round(slowest.begunAt - fromMs)} ms`,
      failures,
      lastFailedMs: Math.round(Math.max(0, ...failed.map(({ begunAt }) => begunAt - fromMs))),
    };
  }

  /** Which of the acknowledged notes are not kept, and how many are kept twice. */
  async judgeNotes(): Promise<{ missing: string[]; doubled: number }> {
    const { url, token, patientId } = this.#options;
    const kept: string[] = [];
    for (let page = 1; ; page++) {
      const path = `/api/patients/${patientId}/records?limit=100&page=${page}`;
      const { body } = await callApi(url, "GET", path, { token });
      kept.push(...body.items.map((item: { body: string }) => item.body));
      if (body.items.length < 100) break;
    }
    const missing = this.acknowledged.filter((note) => !kept.includes(note));
    return { missing, doubled: kept.length - new Set(kept).size };
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#open);
  }

  /** Timers are late on a busy machine; the rate is held all the same. */
  #catchUp(): void {
    const due = ((performance.now() - this.#begunAt) / 1_000) * this.#options.perSecond;
    while (this.#number < due) this.#send(this.#number++);
  }

  #send(number: number): void {
    const begunAt = performance.now();
    const sending = this.#request(number)
      .catch((error: unknown) => `no answer: ${String(error)}`)
      .then((failure) => {
        const what = kinds[number % kinds.length] ?? "";
        this.#samples.push({ what, begunAt, endedAt: performance.now(), failure });
        this.#open.delete(sending);
      });
    this.#open.add(sending);
  }

  /** @returns what is wrong with the answer */
  async #request(number: number): Promise<string | undefined> {
    const { patientId, departmentIds } = this.#options;
    const records = `/api/patients/${patientId}/records`;
    const departmentId = departmentIds[Math.floor(number / kinds.length) % departmentIds.length];
    const note = `note ${this.#name}-${number}`;
    const ward = `Ward ${this.#name}-${number}`;
    switch (number % kinds.length) {
      case 0:
        return this.#expect("GET", "/api/users/me", {}, 200, ({ body }) => body.role === "admin");
      case 1:
        return this.#expect(
          "GET",
          "/api/admin/users?limit=5",
          {},
          200,
          ({ body }) => body.items.length === 5,
        );
      case 2:
        return this.#expect("GET", `${records}?limit=1`, {}, 200, ({ body }) => body.items.length <= 1);
      case 3: {
        const body = { theme: number % 4 === 1 ? "dark" : "light" };
        return this.#expect(
          "PUT",
          "/api/preferences/theme",
          { body },
          200,
          (answer) => answer.body.theme === body.theme,
        );
      }
      case 4:
        return this.#expect(
          "PUT",
          `/api/admin/departments/${departmentId}`,
          { body: { name: ward } },
          200,
          ({ body }) => body.name === ward,
        );
      default:
        return this.#expect("POST", records, { body: { kind: "note", body: note } }, 201, ({ body }) => {
          this.acknowledged.push(note);
          return body.body === note;
        });
    }
  }

  async #expect(
    method: string,
    path: string,
    options: CallOptions,
    status: number,
    isRight: (answer: Answer) => boolean,
  ): Promise<string | undefined> {
    const { url, token } = this.#options;
    const answer = await callApi(url, method, path, { ...options, token });
    if (answer.status !== status) return `${method} ${path}: ${answer.status} ${answer.body.code}`;
    return isRight(answer) ? undefined : `${method} ${path}: a wrong answer`;
  }
}
