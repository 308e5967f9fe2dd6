// Proves exports of the audit log by signed checkpoints. Needs Node.js 20 or later, and nothing of the service:
//   node check-audit.mjs --key keys/*.pem --checkpoints checkpoints/*.jsonl --export clinic.jsonl
// Says of each log what is first wrong with it, and ends with 1 if anything is.
import { createHash, createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";

const files = { "--key": [], "--checkpoints": [], "--export": [] };
let kind = files["--export"];
for (const word of process.argv.slice(2)) {
  if (word in files) kind = files[word];
  else kind.push(readFileSync(word, "utf8"));
}
function parse(line) {
  try {
    return [JSON.parse(line)];
  } catch {
    return []; // A line that is empty, or was cut short: what it said is missing.
  }
}
const read = (name) => files[name].flatMap((text) => text.split("\n").flatMap(parse));
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
}
const faults = {};
const fault = (log, sentence) => (faults[log] ??= sentence);

const keys = files["--key"].map((pem) => createPublicKey(pem));
const keyOf = (id) => keys.find((key) => sha256(key.export({ format: "der", type: "spki" })) === id);
const documents = read("--checkpoints").flatMap((page) => page.items ?? page);
const heads = [];
let last = { number: 0, hash: null };
for (const { signature, ...document } of documents.sort((a, b) => a.number - b.number)) {
  const { number, previous, key_id: id } = document;
  const whole = sha256(canonical({ ...document, signature }));
  if (whole === last.hash) continue; // The same once more.
  const [key, text] = [keyOf(id), Buffer.from(canonical(document))];
  if (key && verify(null, text, key, Buffer.from(signature, "base64")))
    heads.push(...document.heads.map((head) => ({ ...head, number })));
  else fault("checkpoints", `${number} is not signed by a key that was named`);
  if ("excerpt_of" in document) continue;
  if (previous !== last.hash) fault("checkpoints", `${number} does not follow ${last.number}`);
  last = { number, hash: whole };
}

const logs = {};
for (const { hash, prev_hash: before, ...entry } of read("--export").flatMap((page) => page.entries)) {
  const log = (logs[entry.tenant_id] ??= { seq: 0, hash: "00".repeat(32), hashes: {} });
  const wrong = (sentence) => fault(entry.tenant_id, sentence);
  if (entry.seq !== log.seq + 1) wrong(`entry ${log.seq + 1} is missing`);
  if (before !== log.hash) wrong(`entry ${entry.seq} does not follow the one before`);
  const bytes = Buffer.concat([Buffer.from(before, "hex"), Buffer.from(canonical(entry))]);
  if (hash !== sha256(bytes)) wrong(`entry ${entry.seq} is altered`);
  Object.assign(log, { seq: entry.seq, hash }).hashes[entry.seq] = hash;
}
for (const { tenant_id: tenant, seq, hash, verified, number } of heads) {
  if (!(tenant in logs)) continue;
  logs[tenant].signed = seq;
  if (!verified) fault(tenant, `checkpoint ${number} says that it did not continue`);
  if (logs[tenant].hashes[seq] !== hash) fault(tenant, `entry ${seq} is not as checkpoint ${number} has it`);
}

const said = { checkpoints: `${documents.length} documents, as signed` };
for (const [tenant, { seq, signed }] of Object.entries(logs)) {
  if (signed === undefined) fault(tenant, "there is no checkpoint of it");
  said[tenant] = `${seq} entries, as signed up to ${signed}`;
}
for (const name of Object.keys(said)) process.stdout.write(`${name}: ${faults[name] ?? said[name]}\n`);
if (Object.keys(logs).length === 0) throw new Error("There is no log to prove.");
process.exitCode = Object.keys(faults).length > 0 ? 1 : 0;
