import { afterAll, afterEach, describe, expect, it } from "@jest/globals";
import { execFile } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { getPriority } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  Argon2Pool,
  PasswordQueueFull,
  PasswordWorkerLost,
} from "../../../../../services/shared/passwords/argon2-pool.ts";
import { PasswordHasher } from "../../../../../services/shared/passwords/password-hasher.ts";
import {
  closedHash,
  dummyHash,
  formatPhc,
  isCheaper,
  parsePhc,
} from "../../../../../services/shared/passwords/phc.ts";

const run = promisify(execFile);
const password = "Quiet-Harbour-58";
const open: { close(): Promise<void> }[] = [];
const opened = <T extends { close(): Promise<void> }>(each: T): T => {
  open.push(each);
  return each;
};
const cheap = { password, salt: new Uint8Array(16), memoryKib: 64, passes: 1, lanes: 1, tagBytes: 32 };

describe("a hasher", () => {
  const hasher = new PasswordHasher({ workers: 1, queueMax: 64 });
  let phc = "";
  afterAll(() => hasher.close());

  it("writes a PHC string of today's cost", async () => {
    phc = await hasher.hash(password);
    expect(phc).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(isCheaper(phc)).toBe(false);
  });
  it("salts every hash anew", async () => expect(await hasher.hash(password)).not.toBe(phc));
  it("knows the password again", async () => expect(await hasher.verify(phc, password)).toBe(true));
  it("takes the same characters in another Unicode form", async () => {
    const composed = await hasher.hash("Caf\u00e9-Harbour-58");
    expect(await hasher.verify(composed, "Cafe\u0301-Harbour-58")).toBe(true);
  });
  it.each(["", "quiet-harbour-58", `${password} `, `${password}\0`, "x".repeat(128)])(
    "refuses %j",
    async (wrong) => expect(await hasher.verify(phc, wrong)).toBe(false),
  );
  it("refuses every password for the dummy hash, of the same cost", async () => {
    expect(await hasher.verify(dummyHash(), password)).toBe(false);
    expect(isCheaper(dummyHash())).toBe(false);
    expect(dummyHash()).toHaveLength(phc.length);
  });
  it("refuses a malformed hash", async () => {
    expect(await hasher.verify("", password)).toBe(false);
    expect(await hasher.verify(phc.replace("argon2id", "argon2i"), password)).toBe(false);
  });
  it("verifies hashes of other costs", async () => {
    const salt = Uint8Array.from(Buffer.from("c29tZXNhbHRzb21lc2FsdA", "base64"));
    const pool = opened(new Argon2Pool({ workers: 1, queueMax: 1 }));
    const cost = { memoryKib: 256, passes: 3, lanes: 2 };
    const tag = Uint8Array.from(await pool.derive({ ...cost, password, salt, tagBytes: 24 }));
    const other = formatPhc({ ...cost, salt, tag });
    expect(await hasher.verify(other, password)).toBe(true);
    expect(await hasher.verify(other, "wrong-password")).toBe(false);
    expect(isCheaper(other)).toBe(true);
  });
});

describe("a PHC string", () => {
  const [salt, tag] = ["c29tZXNhbHRzb21lc2FsdA", "A".repeat(43)];
  it("keeps its parts", () => {
    const text = `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}`;
    const phc = parsePhc(text);
    expect(phc && formatPhc(phc)).toBe(text);
  });
  it.each([
    ["another kind", `$argon2i$v=19$m=19456,t=2,p=1$${salt}$${tag}`],
    ["another version", `$argon2id$v=16$m=19456,t=2,p=1$${salt}$${tag}`],
    ["gigabytes", `$argon2id$v=19$m=999999,t=2,p=1$${salt}$${tag}`],
    ["minutes", `$argon2id$v=19$m=19456,t=99,p=1$${salt}$${tag}`],
    ["no pass", `$argon2id$v=19$m=19456,t=0,p=1$${salt}$${tag}`],
    ["many lanes", `$argon2id$v=19$m=19456,t=2,p=9$${salt}$${tag}`],
    ["no lane", `$argon2id$v=19$m=19456,t=2,p=0$${salt}$${tag}`],
    ["no memory", `$argon2id$v=19$m=7,t=2,p=1$${salt}$${tag}`],
    ["no salt", `$argon2id$v=19$m=19456,t=2,p=1$$${tag}`],
    ["a short tag", `$argon2id$v=19$m=19456,t=2,p=1$${salt}$AAAA`],
    ["padding", `$argon2id$v=19$m=19456,t=2,p=1$${salt}==$${tag}`],
    ["bcrypt", "$2b$12$abcdefghijklmnopqrstuuQ3f8a0n7Zz6X5cV4bN3mL2kJ1hG0fDs"],
    ["something after it", `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}$x`],
    ["nothing", ""],
  ])("with %s is malformed, and no cheaper hash of anything", (_, text) => {
    expect(parsePhc(text)).toBeUndefined();
    expect(isCheaper(text)).toBe(false);
  });
  const hashOf = (cost: string) => `$argon2id$v=19$${cost}$${salt}$${tag}`;
  it.each(["m=19455,t=2,p=1", "m=19456,t=1,p=1", "m=12288,t=3,p=1", "m=7168,t=5,p=4", "m=64,t=10,p=1"])(
    "with %s is cheaper to guess than today's",
    (cost) => expect(isCheaper(hashOf(cost))).toBe(true),
  );
  it.each(["m=19456,t=2,p=1", "m=19456,t=2,p=2", "m=19456,t=3,p=1", "m=47104,t=1,p=1", "m=65536,t=3,p=4"])(
    "with %s costs as much or more, and stays",
    (cost) => expect(isCheaper(hashOf(cost))).toBe(false),
  );
  it("with a short tag or salt is cheaper", () => {
    expect(isCheaper(`$argon2id$v=19$m=65536,t=3,p=1$${salt}$${"A".repeat(22)}`)).toBe(true);
    expect(isCheaper(`$argon2id$v=19$m=65536,t=3,p=1$${"A".repeat(11)}$${tag}`)).toBe(true);
  });
  it("of no password is another one each time", () => {
    const hashes = new Set(Array.from({ length: 20 }, closedHash));
    expect(hashes.size).toBe(20);
    for (const hash of hashes) expect([parsePhc(hash) !== undefined, isCheaper(hash)]).toEqual([true, false]);
  });
});

describe("the pool of threads", () => {
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close();
  });

  it("agrees with the published test vector of argon2's reference implementation", async () => {
    // phc-winner-argon2, src/test.c: hashtest(version 19, t 2, m 16, p 1, "password", "somesalt", argon2id)
    const pool = opened(new Argon2Pool({ workers: 1, queueMax: 1 }));
    const salt = new TextEncoder().encode("somesalt");
    const tag = await pool.derive({
      password: "password",
      salt,
      memoryKib: 65_536,
      passes: 2,
      lanes: 1,
      tagBytes: 32,
    });
    expect(Buffer.from(tag).toString("hex")).toBe(
      "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7",
    );
  });

  it("refuses at once what goes beyond its queue, and does the rest", async () => {
    const pool = opened(new Argon2Pool({ workers: 1, queueMax: 2 }));
    const jobs = [1, 2, 3, 4, 5].map(() => pool.derive(cheap));
    const results = await Promise.allSettled(jobs);
    expect(results.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "rejected",
      "rejected",
    ]);
    await expect(jobs[4]).rejects.toBeInstanceOf(PasswordQueueFull);
    expect(pool.depth).toBe(0);
  });

  it("takes a job without a queue when a thread is free", async () => {
    const pool = opened(new Argon2Pool({ workers: 1, queueMax: 0 }));
    const first = pool.derive(cheap);
    await expect(pool.derive(cheap)).rejects.toBeInstanceOf(PasswordQueueFull);
    await first;
    await expect(pool.derive(cheap)).resolves.toHaveLength(32);
  });

  it("replaces threads that die, a bounded number of times", async () => {
    const pool = opened(new Argon2Pool({ workers: 1, queueMax: 4 }));
    // A tag of no bytes makes argon2 throw inside the thread, which ends it.
    const deadly = { ...cheap, tagBytes: 0 };
    for (let death = 0; death < 6; death++) {
      const lost = pool.derive(deadly);
      const next = death < 5 ? pool.derive(cheap) : undefined;
      await expect(lost).rejects.toBeInstanceOf(PasswordWorkerLost);
      if (next) await expect(next).resolves.toHaveLength(32);
    }
    await expect(pool.derive(cheap)).rejects.toBeInstanceOf(PasswordWorkerLost);
  });

  it("rejects what waits, and what comes later, when it is closed", async () => {
    const pool = new Argon2Pool({ workers: 1, queueMax: 4 });
    const jobs = Promise.allSettled([pool.derive(cheap), pool.derive(cheap)]);
    await pool.close();
    for (const result of await jobs) expect(result.status).toBe("rejected");
    await expect(pool.derive(cheap)).rejects.toBeInstanceOf(PasswordWorkerLost);
  });

  (process.platform === "linux" ? it : it.skip)("lowers the priority of its own threads only", async () => {
    const pool = opened(new Argon2Pool({ workers: 2, queueMax: 4 }));
    pool.start();
    await Promise.all([pool.derive(cheap), pool.derive(cheap)]);
    const nice = await niceByThread();
    const base = getPriority();
    const lowered = [...nice.values()].filter((each) => each === Math.min(19, base + 10));
    expect(lowered).toHaveLength(2);
    expect(nice.get(String(process.pid))).toBe(base);
    expect([...nice.values()].filter((each) => each === base)).toHaveLength(nice.size - 2);
  });

  it("does not keep a process alive", async () => {
    const module = new URL("../../../../../services/shared/passwords/password-hasher.ts", import.meta.url)
      .href;
    const code = `import { PasswordHasher } from ${JSON.stringify(module)};
      const hasher = new PasswordHasher({ workers: 1, queueMax: 1 }); hasher.start();
      console.log(await hasher.verify(await hasher.hash("a"), "a"));`;
    const { stdout } = await run(process.execPath, ["--input-type=module-typescript", "-e", code], {
      cwd: fileURLToPath(new URL(".", import.meta.url)),
      timeout: 10_000,
    });
    expect(stdout.trim()).toBe("true");
  });
});

/** Nice value by thread id: field 19 of each thread's stat; the name before it may hold spaces. */
async function niceByThread(): Promise<Map<string, number>> {
  const ids = await readdir("/proc/self/task");
  const stats = await Promise.all(ids.map((id) => readFile(`/proc/self/task/${id}/stat`, "utf8")));
  return new Map(
    stats.map((stat, index) => [
      ids[index] ?? "",
      Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16]),
    ]),
  );
}
