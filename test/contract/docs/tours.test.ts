// The tours of the README, as they stand there, pasted twice into bash and, where there is one, into zsh.
import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { startService, type TestService } from "../../support/service.ts";

const run = promisify(execFile);
const readme = await readFile(join(import.meta.dirname, "../../../README.md"), "utf8");
const tours = new Map(
  [...readme.matchAll(/<!-- tour: (\w+) -->\n```sh\n([\s\S]*?)```/g)].map(([, name = "", text = ""]) => [
    name,
    text,
  ]),
);

/** What each tour must have shown, in this order. */
const shown: Readonly<Record<string, readonly RegExp[]>> = {
  users: [
    /role: 'admin'/,
    /total: \d+/,
    /role: 'nurse'/,
    /head_doctor_id: \d+/,
    /\n200\n/,
    /\n401\n/,
    /loc: \[ 'body', 'email' \]/,
    /loc: \[ 'body', 'password' \]/,
    /loc: \[ 'body', 'role' \]/,
    /user\.block/,
    /ok: true/,
  ],
  patients: [
    /kind: 'visit'/,
    /full_name: 'Ada Lovelace'/,
    /body: 'Felt better\.'/,
    /notes: 'first'/,
    /code: 'stale_version'/,
    /hits: [1-9]/,
    /patient\.\w+/,
  ],
  key: [/status: 'running'|job_id/, /status: 'finished'/],
  backups: [
    /status: 'succeeded'/,
    /\n404\n/,
    /table: 'users', add: 1/,
    /table: 'patients', add: 1/,
    /applied: false/,
    /status: 'succeeded'/,
    /\n200\n/,
    /email: 'nina-\S+@demo\.example'/,
    // All that the other clinic was answered.
    /nothing else\n +\d+ 200\n==/,
    /manifest/,
  ],
  healing: [
    /opened: 1/,
    /target: 'backup:bk_/,
    /missing: \[ 'archive' \]/,
    /would_do: 'Would take/,
    /status: 'confirmed'/,
    /status: 'healed'/,
    /step: 'healed'/,
    /healed: [1-9]/,
  ],
  payments: [/received/, /duplicate/, /received/, /code: '/, /code: '/, /status: 'refunded'/],
  webhooks: [
    /signed {2}\S+ \{"type":"webhook\.test"/,
    ...Array(2).fill(/signed {2}\S+ \{"type":"department\.created"/),
  ],
};

function has(program: string): boolean {
  try {
    execFileSync(program, ["-c", "true"]);
    return true;
  } catch {
    return false;
  }
}
const shells = ["bash", "zsh"].filter(has);

let service: TestService;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "records-tours-"));
  service = await startService({
    CARD_WEBHOOK_SECRETS: "whsec-try-it-0123456789",
    WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8",
    KEYS_HELD_SECONDS: "1",
    ROTATION_PACE_PERCENT: "100",
  });
});

afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

it("there is something to be seen in every tour", () => {
  expect([...tours.keys()].filter((name) => name !== "functions").toSorted()).toEqual(
    Object.keys(shown).toSorted(),
  );
});

it("nothing in a tour is a comment, which an interactive zsh takes for a command", () => {
  for (const text of tours.values()) expect(text).not.toMatch(/(^|\s)#/);
});

describe.each(shells)("pasted into %s", (shell) => {
  it.each(Object.keys(shown))("the tour of %s shows what it says, twice", async (name) => {
    const functions = (tours.get("functions") ?? "").replace("http://localhost:3000", service.url);
    const tour = (tours.get(name) ?? "").replaceAll(" .data/", ` ${service.settings["DATA_DIR"]}/`);
    const script = `${functions}\n${tour}`;
    for (const _paste of shell === "bash" ? [1, 2] : [1]) {
      const { stdout, stderr } = await run(shell, ["-c", script], { cwd: folder, maxBuffer: 10_000_000 });
      expect(stderr).toBe("");
      let rest = stdout;
      for (const pattern of shown[name] ?? []) {
        const found = pattern.exec(rest);
        if (found === null) throw new Error(`${pattern} is missing in what follows:\n${rest}`);
        rest = rest.slice(found.index + found[0].length - 1);
      }
    }
  });
});
