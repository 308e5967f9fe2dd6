// Backups of everything or of one tenant: created, verified, downloaded, restored and deleted.
// Life cycle: requested (by a person or the schedule) → a job → an archive in the store, read back → listed,
// test-restored weekly → deleted by a person or by the retention. A restore: planned → confirmed → a job that
// changes one tenant in one transaction.
// Promises: a listed backup is complete and was read back; no plain text is written anywhere; a restore
// changes everything or nothing, and does not affect other tenants; a job whose worker dies is continued by
// another one.
// Does not seal or open patients' fields, or store keys (crypto).
import { jobsMax } from "./job.rules.ts";
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { serviceMetrics } from "../../mixins/service-metrics.ts";
import { detectors } from "../../mixins/healing/detectors.ts";
import { jobs } from "../../mixins/jobs/jobs.ts";
import { stopSignal, type WithStopSignal } from "../../mixins/stop-signal.ts";
import { worker } from "../../mixins/worker.ts";
import { implement } from "../shared/bus/bus.ts";
import { certificateEnds, webServer } from "../../mixins/healing/certificate-faults.ts";
import { jobFaults } from "../../mixins/healing/job-faults.ts";
import { storeOf } from "../../mixins/store/store-of.ts";
import { backupsContract } from "./backups.contract.ts";
import { createBackup, makeAny } from "./begin-backup.ts";
import { restoreBackup } from "./begin-restore.ts";
import { downloadBackup, makeTicket, useTicket } from "./download.ts";
import { keepCheckpoint } from "./keep-checkpoint.ts";
import { keepCheckpointContract } from "./keep-checkpoint.contract.ts";
import { jobStatus, listBackups } from "./list-backups.ts";
import { removeBackup, removeObjects } from "./remove-backup.ts";
import { startNightlyBackups, proveNewest, notifyIfMissing } from "./nightly.ts";
import { ArchiveAccess, archiveAccessOf } from "./archive-access.ts";
import { runJob } from "./run-job.ts";
import { sweepBackups } from "./sweep-backups.ts";
import { backupJobAbandoned } from "./job-faults.ts";
import { watchBackups } from "./backup-metrics.ts";
import { backupFaults } from "./backup-faults.ts";
import { backupObjectMissing, objectWithoutBackup } from "./object-faults.ts";
import { sessionIdleInTransaction } from "../../mixins/healing/session-faults.ts";
import { uploadLeftovers } from "./upload-faults.ts";

const backups: ServiceSchema = {
  name: "backups",
  mixins: [
    stopSignal(),
    database(),
    jobs<WithStopSignal>({
      tasks: {
        async "backups.run"(payload) {
          const { job_id: jobId } = payload as { job_id: string };
          await runJob(this, jobId);
        },
        "backups.remove": removeObjects,
        "backups.nightly": startNightlyBackups,
        "backups.prove": proveNewest,
        "backups.watch": notifyIfMissing,
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
    // The mixin before it has set the stop signal; Moleculer's types do not express that.
    worker((service) => new ArchiveAccess(service as WithStopSignal)),
    serviceMetrics(watchBackups),
  ],
  actions: implement(
    { ...backupsContract, ...keepCheckpointContract },
    {
      "backups.create": createBackup,
      "backups.make": makeAny,
      "backups.list": listBackups,
      "backups.status": jobStatus,
      "backups.download": (call) => downloadBackup(call, archiveAccessOf(call.runtime)),
      "backups.make_ticket": makeTicket,
      "backups.use_ticket": (call) => useTicket(call, archiveAccessOf(call.runtime)),
      "backups.restore": (call) => restoreBackup(call, archiveAccessOf(call.runtime).plans),
      "backups.remove": removeBackup,
      "backups.keep_checkpoint": keepCheckpoint,
      "backups.check": async (call) => {
        await storeOf(call.runtime).probe();
        return { ok: true };
      },
    },
  ),
};

export default backups;
