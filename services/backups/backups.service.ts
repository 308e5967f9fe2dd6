// Backups: of everything, or of one tenant; made, proved, handed out, restored and ended.
// Life cycle: wanted (by a person or the clock) → a job → an archive in the store, read back → listed, tried out weekly →
// deleted by a person or by the retention. A restore: looked at → confirmed → a job that changes one tenant in one transaction.
// Promises: what is listed is whole and was read back; nothing plain is written anywhere; a restore changes all or nothing,
// and no other tenant notices; a job whose worker dies is taken up by another.
// Does not: seal or open what patients' fields hold, or keep keys (crypto).
import { jobsMax } from "./job.rules.ts";
import type { Service, ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { detectors } from "../../mixins/detectors.ts";
import { jobs } from "../../mixins/jobs.ts";
import { implement, runtimeOf } from "../shared/bus.ts";
import { certificateEnds, webServer } from "../shared/healing/certificate-faults.ts";
import { jobFaults } from "../shared/healing/job-faults.ts";
import type { Runtime } from "../shared/runtime.ts";
import { storeOf } from "../shared/store/store-of.ts";
import { ArchiveServer } from "./archive-server.ts";
import { ArchiveKeyring } from "./ask-archive-keys.ts";
import { backupsContract } from "./backups.contract.ts";
import { createBackup, makeAny } from "./begin-backup.ts";
import { restoreBackup } from "./begin-restore.ts";
import { downloadBackup, makeTicket, type Shelf, useTicket } from "./download.ts";
import { keepCheckpoint } from "./keep-checkpoint.ts";
import { keepCheckpointContract } from "./keep-checkpoint.contract.ts";
import { jobStatus, listBackups } from "./list-backups.ts";
import { removeBackup, removeObjects } from "./remove-backup.ts";
import { backUpByNight, proveNewest, tellIfMissing } from "./nightly.ts";
import { Plans } from "./plan-restore.ts";
import { movingOf, partsOf, runJob } from "./run-job.ts";
import { sweepBackups } from "./sweep-backups.ts";
import { backupJobAbandoned } from "./job-faults.ts";
import { watchBackups } from "./backup-figures.ts";
import { backupFaults } from "./backup-faults.ts";
import { backupObjectMissing, objectWithoutBackup } from "./object-faults.ts";
import { sessionIdleInTransaction } from "../shared/healing/session-faults.ts";
import { uploadLeftovers } from "./upload-faults.ts";

interface BackupsService extends Service {
  runtime: Runtime;
  shelf?: Parts;
  stopping?: AbortController;
}
type Parts = Shelf & { plans: Plans };
const shelves = new WeakMap<Runtime, Parts>();

function shelfOf(runtime: Runtime): Parts {
  const shelf = shelves.get(runtime);
  if (shelf === undefined) throw new Error("the backups have not started yet");
  return shelf;
}

const backups: ServiceSchema<object, object, object, BackupsService> = {
  name: "backups",
  mixins: [
    database(),
    jobs<BackupsService>({
      tasks: {
        async "backups.run"(payload) {
          const { job_id: jobId } = payload as { job_id: string };
          const { broker, runtime, stopping } = this;
          if (stopping !== undefined) await runJob({ broker, runtime, stopping: stopping.signal }, jobId);
        },
        "backups.remove": removeObjects,
        "backups.nightly": backUpByNight,
        "backups.prove": proveNewest,
        "backups.watch": tellIfMissing,
        "backups.sweep": sweepBackups,
      },
      schedules: {
        "backups.nightly": ({ backupCron }) => backupCron,
        "backups.prove": "40 4 * * 1",
        "backups.watch": "50 * * * *",
        "backups.sweep": "*/10 * * * *",
      },
      serial: ["backups.sweep"],
      concurrentMax: jobsMax,
    }),
    detectors("backups", {
      ...jobFaults("backups"),
      ...backupFaults,
      backup_job_abandoned: backupJobAbandoned,
      backup_object_missing: backupObjectMissing,
      object_without_backup: objectWithoutBackup,
      upload_leftovers: uploadLeftovers,
      certificate_ends: certificateEnds(({ s3Endpoint, s3Authority }) => ({
        servers: webServer(s3Endpoint),
        files: { S3_CA_FILE: s3Authority },
      })),
      session_idle_in_transaction: sessionIdleInTransaction,
    }),
  ],
  actions: implement(
    { ...backupsContract, ...keepCheckpointContract },
    {
      "backups.create": createBackup,
      "backups.make": makeAny,
      "backups.list": listBackups,
      "backups.status": jobStatus,
      "backups.download": (call) => downloadBackup(call, shelfOf(call.runtime)),
      "backups.make_ticket": makeTicket,
      "backups.use_ticket": (call) => useTicket(call, shelfOf(call.runtime)),
      "backups.restore": (call) => restoreBackup(call, shelfOf(call.runtime).plans),
      "backups.remove": removeBackup,
      "backups.keep_checkpoint": keepCheckpoint,
      "backups.check": async (call) => {
        await storeOf(call.runtime).probe();
        return { ok: true };
      },
    },
  ),
  created(this: BackupsService): void {
    this.stopping = new AbortController();
  },
  async started(this: BackupsService): Promise<void> {
    const runtime = runtimeOf(this);
    const server = new ArchiveServer(runtime, storeOf(runtime));
    await server.listen();
    const stopping = this.stopping?.signal ?? AbortSignal.abort();
    const plans = new Plans(() => partsOf({ broker: this.broker, runtime, stopping }), stopping);
    this.shelf = { server, keyring: new ArchiveKeyring(this.broker), plans };
    shelves.set(runtime, this.shelf);
    watchBackups(runtime);
  },
  async stopped(this: BackupsService): Promise<void> {
    this.stopping?.abort(new Error("the process stops"));
    await this.shelf?.server.close();
    if (this.shelf !== undefined) await movingOf(runtimeOf(this)).close();
  },
};

export default backups;
