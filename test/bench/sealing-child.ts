// A child process: 1 kB texts sealed and opened by the service's own code and by node:crypto alone, in turn.
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from "node:crypto";
import { open, seal } from "../../services/shared/sealing/ciphertext.ts";
import { readJob } from "./task.ts";

export interface SealingJob {
  rounds: number;
  seconds: number;
}
/** Per second, by round. */
export type SealingResult = Record<"sealed" | "rawSealed" | "opened" | "rawOpened", number[]>;

const job = await readJob<SealingJob>();
const key = createSecretKey(randomBytes(32));
const text = "x".repeat(1_000);
const bytes = Buffer.from(text);
const place = Buffer.from("12345|patients|notes|1234567");

interface Raw {
  nonce: Buffer;
  body: Buffer;
  tag: Buffer;
}

function rawSeal(): Raw {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const body = Buffer.concat([cipher.update(bytes), cipher.final()]);
  return { nonce, body, tag: cipher.getAuthTag() };
}

function rawOpen({ nonce, body, tag }: Raw): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", key, nonce);
  decipher.setAuthTag(tag);
  return Buffer.concat([decipher.update(body), decipher.final()]);
}

const sealed = seal(1, key, place, text);
const raw = rawSeal();
const sides: Record<keyof SealingResult, () => unknown> = {
  sealed: () => seal(1, key, place, text),
  rawSealed: rawSeal,
  opened: () => open(key, place, sealed),
  rawOpened: () => rawOpen(raw),
};

function perSecond(work: () => unknown): number {
  const startedAt = performance.now();
  const until = startedAt + job.seconds * 1000;
  let count = 0;
  for (; performance.now() < until; count += 100) for (let i = 0; i < 100; i++) work();
  return (count * 1000) / (performance.now() - startedAt);
}

const result: SealingResult = { sealed: [], rawSealed: [], opened: [], rawOpened: [] };
for (const work of Object.values(sides)) perSecond(work);
for (let round = 0; round < job.rounds; round++) {
  for (const [name, work] of Object.entries(sides)) result[name as keyof SealingResult].push(perSecond(work));
}
process.stdout.write(JSON.stringify(result));
