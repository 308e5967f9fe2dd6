// A history of reads and writes and what it must look like: a reading shows at least everything that was acknowledged
// before it began, and exactly what was written under the version it shows.
import { setTimeout as delay } from "node:timers/promises";
import type { Answer, CallOptions } from "./service.ts";

/** Calls one of the gateways; undefined when no answer came. */
export type Caller = (method: string, path: string, options?: CallOptions) => Promise<Answer | undefined>;

/** What one patient may be seen as. */
interface Known {
  id: number;
  /** The newest version of which a writer has been told. */
  version: number;
  /** By version, what was sent to become it: more than one when an answer was lost. */
  notes: Map<number, Set<string>>;
  /** Bodies of records that were acknowledged. */
  records: Set<string>;
}

export interface History {
  reads: number;
  writes: number;
  /** Requests that were refused or got lost: 503, no answer. */
  unanswered: number;
  /** What must not be; at most twenty of those that differ in numbers only. */
  violations: string[];
}

export interface Play {
  callers: readonly Caller[];
  token: string;
  patientIds: readonly number[];
  readers: number;
  /** Numbers from 0 to below, of a seed. */
  roll(below: number): number;
}

const violationsMax = 20;
/** So that all of a patient's records stay on one page. */
const recordsMax = 150;

/** Plays until `ending`; every patient has one writer. */
export async function playHistory(play: Play, ending: AbortSignal): Promise<History> {
  const history: History = { reads: 0, writes: 0, unanswered: 0, violations: [] };
  const known = play.patientIds.map(
    (id): Known => ({ id, version: 0, notes: new Map(), records: new Set() }),
  );
  const writers = known.map((patient) => writer(play, patient, history, ending));
  const readers = Array.from({ length: play.readers }, () => reader(play, known, history, ending));
  await Promise.all([...writers, ...readers]);
  return history;
}

function ask(play: Play, method: string, path: string, body?: unknown): Promise<Answer | undefined> {
  const caller = play.callers[play.roll(play.callers.length)];
  return caller?.(method, path, { token: play.token, body }) ?? Promise.resolve(undefined);
}

async function writer(play: Play, patient: Known, history: History, ending: AbortSignal): Promise<void> {
  for (let round = 0; !ending.aborted; round++) {
    if (patient.version === 0 && !(await learnVersion(play, patient, history))) continue;
    if (play.roll(4) === 0 && patient.records.size < recordsMax)
      await addRecord(play, patient, history, round);
    else await changeNotes(play, patient, history, round);
    await delay(play.roll(8));
  }
}

async function learnVersion(play: Play, patient: Known, history: History): Promise<boolean> {
  const answer = await ask(play, "GET", `/api/patients/${patient.id}`);
  if (answer?.status !== 200) {
    history.unanswered++;
    await delay(50);
    return false;
  }
  patient.version = answer.body.version;
  // The first time nobody has written yet; later the version was sent by this writer and is in the map.
  if (patient.notes.size === 0) patient.notes.set(patient.version, new Set([answer.body.notes]));
  return true;
}

async function changeNotes(play: Play, patient: Known, history: History, round: number): Promise<void> {
  const { id, version } = patient;
  const notes = `${id} ${round}`;
  const next = patient.notes.get(version + 1) ?? new Set();
  next.add(notes);
  patient.notes.set(version + 1, next);
  const answer = await ask(play, "PUT", `/api/patients/${id}`, { version, notes });
  if (answer?.status === 200) {
    patient.version = version + 1;
    history.writes++;
    return;
  }
  if (answer !== undefined && answer.status !== 503 && answer.status !== 409)
    report(history, `PUT ${id}: ${answer.status} ${JSON.stringify(answer.body)}`);
  history.unanswered++;
  patient.version = 0;
}

async function addRecord(play: Play, patient: Known, history: History, round: number): Promise<void> {
  const body = `${patient.id} record ${round}`;
  const answer = await ask(play, "POST", `/api/patients/${patient.id}/records`, { kind: "note", body });
  if (answer?.status === 201) {
    patient.records.add(body);
    history.writes++;
  } else history.unanswered++;
}

async function reader(
  play: Play,
  known: readonly Known[],
  history: History,
  ending: AbortSignal,
): Promise<void> {
  while (!ending.aborted) {
    const patient = known[play.roll(known.length)];
    if (patient === undefined) return;
    const answered =
      play.roll(3) === 0 ? await readRecords(play, patient, history) : await readOne(play, patient, history);
    if (answered) history.reads++;
    else {
      history.unanswered++;
      await delay(20);
    }
  }
}

async function readOne(play: Play, patient: Known, history: History): Promise<boolean> {
  const before = patient.version;
  const answer = await ask(play, "GET", `/api/patients/${patient.id}`);
  if (answer?.status !== 200) return lost(history, answer);
  const { version, notes } = answer.body;
  if (version < before)
    report(history, `patient ${patient.id}: version ${version} after ${before} was acknowledged`);
  if (patient.notes.size > 0 && patient.notes.get(version)?.has(notes) !== true)
    report(history, `patient ${patient.id}: version ${version} never said ${JSON.stringify(notes)}`);
  return true;
}

async function readRecords(play: Play, patient: Known, history: History): Promise<boolean> {
  const before = [...patient.records];
  const answer = await ask(play, "GET", `/api/patients/${patient.id}/records?limit=200`);
  if (answer?.status !== 200) return lost(history, answer);
  const seen = new Set<string>(answer.body.items.map(({ body }: { body: string }) => body));
  const missing = before.filter((body) => !seen.has(body));
  if (missing.length > 0)
    report(history, `patient ${patient.id}: without ${missing.length} acknowledged records`);
  return true;
}

function lost(history: History, answer: Answer | undefined): false {
  if (answer !== undefined && answer.status !== 503)
    report(history, `GET: ${answer.status} ${JSON.stringify(answer.body)}`);
  return false;
}

/** Room for each kind, so that a flood of one does not hide the other. */
function report({ violations }: History, sentence: string): void {
  const kindOf = (text: string) => text.replaceAll(/\d+/g, "n");
  const alike = violations.filter((other) => kindOf(other) === kindOf(sentence));
  if (alike.length < violationsMax && violations.length < violationsMax * 5) violations.push(sentence);
}
