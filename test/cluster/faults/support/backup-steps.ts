// The steps of a backup and of a restore at which a fault can be made to happen: each says how a job is stopped there.
import { type Gate, holdLock, holdRequest, type RequestGate } from "../../../api/backups/gates.ts";
import type { World } from "./backup-world.ts";

export interface Job {
  id: string;
  backupId: string;
  /** Of a restore. */
  safetyId: string;
}

export interface Step {
  name: string;
  /** Before the job begins; `job` resolves when it has begun. @returns the gate at which it will stand */
  hold(world: World, job: Promise<Job>): Promise<StepGate>;
}

/** Where a request to the store waits, that very request can be spoilt. */
export type StepGate = Gate & Partial<Pick<RequestGate, "spoil">>;

const escaped = (id: string) => id.replaceAll(/[^\w]/g, "");

/** A request about one of the job's archives, whose name is known once the job has begun; until then all of them wait. */
function atRequest(name: string, line: (job: Job) => string): Step {
  return {
    name,
    async hold(world, job) {
      const gate = job.then((known) => holdRequest(world.proxy, new RegExp(line(known))));
      world.proxy.spoil(async (each) => (await gate).decide(each));
      return {
        reached: async () => (await gate).reached(),
        open: async () => (await gate).open(),
        spoil: (by) => void gate.then((known) => known.spoil(by)),
      };
    },
  };
}

function atLock(name: string, statement: string, values: (world: World) => unknown[] = () => []): Step {
  return {
    name,
    hold: (world) => holdLock(world.cluster.database.url, statement, values(world)),
  };
}

/** A lock that would hold up what comes before, too: it is taken when the job stands at another one. */
function behind(first: Step, second: Step): Step {
  return {
    name: second.name,
    async hold(world, job) {
      const door = await first.hold(world, job);
      let inner: Gate | undefined;
      return {
        async reached() {
          await door.reached();
          inner = await second.hold(world, job);
          await door.open();
          await inner.reached();
        },
        async open() {
          await door.open();
          await inner?.open();
        },
      };
    },
  };
}

const clinic = (world: World) => [world.clinic.id];
const door = atLock(
  "the exchange, at its door",
  "select from tenants where id = $1 for no key update",
  clinic,
);

export const backupSteps: readonly Step[] = [
  atLock("asking for a key", "lock table archive_keys in share mode"),
  atRequest("writing the archive", ({ backupId }) => `^PUT .*${escaped(backupId)}/data`),
  atRequest("reading it back", ({ backupId }) => `^GET .*${escaped(backupId)}/data`),
  atRequest("writing the manifest", ({ backupId }) => `^PUT .*${escaped(backupId)}/manifest`),
  atRequest("writing the ring of keys", () => "^PUT .*/keyring"),
  atLock("listing it", "lock table backups in share mode"),
];

export const restoreSteps: readonly Step[] = [
  atRequest("laying the archive out", ({ backupId }) => `^GET .*${escaped(backupId)}/data`),
  atRequest("writing the safety backup", ({ safetyId }) => `^PUT .*${escaped(safetyId)}/data`),
  atRequest("reading it back", ({ safetyId }) => `^GET .*${escaped(safetyId)}/data`),
  atRequest("writing its manifest", ({ safetyId }) => `^PUT .*${escaped(safetyId)}/manifest`),
  atLock("listing it", "lock table backups in share mode"),
  atLock("freezing the tenant", "lock table tenant_freezes in share mode"),
  door,
  atLock(
    "the exchange, half way",
    "select from patients where tenant_id = $1 and deleted_at is null for no key update",
    clinic,
  ),
  behind(
    door,
    atLock(
      "the exchange, before its commit",
      "select from audit_heads where tenant_id = $1 for update",
      clinic,
    ),
  ),
  behind(door, atLock("after the commit", "lock table staging.patients in share mode")),
];
