// Self-healing: detects known faults, reports them, and heals them when a person has confirmed the remedy.
// Owns fixes, incidents with their history, and the times of detection runs. Detectors and remedies belong to
// the services that own the data concerned (mixins/healing/port.ts); see README.md in this folder.
// Promises: no unconfirmed remedy is applied; the detector runs before and after each attempt; one attempt
// per fix at a time over all processes; a fix that fails too often, or a fault that is everywhere at once, is
// suspended and a person is notified.
// Does not access tables of other services.
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { serviceMetrics } from "../../mixins/service-metrics.ts";
import { detectors } from "../../mixins/healing/detectors.ts";
import { jobs } from "../../mixins/jobs/jobs.ts";
import { stopSignal, type WithStopSignal } from "../../mixins/stop-signal.ts";
import { implement } from "../shared/bus/bus.ts";
import { listen } from "../shared/bus/listen.ts";
import { platform } from "../shared/database/scope.ts";
import { faultOf } from "../../mixins/healing/catalogue.ts";
import { jobWorkerGone } from "../../mixins/healing/job-faults.ts";
import { confirmFix, removeFix } from "./change-fix.ts";
import { system } from "./fix-row.ts";
import { listFixes, readStats } from "./fixes.ts";
import { healDue } from "./heal.ts";
import { watchIncidents } from "./incident-metrics.ts";
import { listIncidents } from "./list-incidents.ts";
import { detectFaults } from "./detect-faults.ts";
import { seedFixes } from "./seed-fixes.ts";
import { selfHealingContract } from "./self-healing.contract.ts";
import { sweepIncidents } from "./sweep-incidents.ts";
import {
  connectionsRunOut,
  invalidIndex,
  statisticsStale,
  transactionIdsRunOut,
  vacuumBehind,
} from "./database-faults.ts";
import {
  busServer,
  certificateEnds,
  databaseServer,
  webServer,
} from "../../mixins/healing/certificate-faults.ts";
import { sessionIdleInTransaction } from "../../mixins/healing/session-faults.ts";
import { clocksApart, diskFilling, nodeSilent, nodesOfTwoVersions } from "./node-faults.ts";
import { tenancyWallDown } from "./row-security-faults.ts";

const lookMsMax = 45_000;
const lookNowMsMax = 7_000;
/** Reserve within the time limit of a call, for the writes at the end of a detection run. */
const reserveMs = 2_000;

const selfHealing: ServiceSchema = {
  name: "self-healing",
  mixins: [
    stopSignal(),
    database(),
    jobs<WithStopSignal>({
      tasks: {
        async "self-healing.look"() {
          await detectFaults(this, "due", lookMsMax);
        },
        async "self-healing.heal"(payload) {
          const { code } = payload as { code: string };
          await healDue(this, code);
        },
        async "self-healing.suspect"(payload) {
          const { code } = payload as { code: string };
          await detectFaults(this, { code }, lookMsMax);
        },
        "self-healing.sweep": sweepIncidents,
      },
      schedules: { "self-healing.look": "* * * * *", "self-healing.sweep": "29 3 * * *" },
      serial: ["self-healing.look"],
    }),
    detectors("self-healing", {
      job_worker_gone: jobWorkerGone("self-healing"),
      session_idle_in_transaction: sessionIdleInTransaction,
      invalid_index: invalidIndex,
      statistics_stale: statisticsStale,
      vacuum_behind: vacuumBehind,
      transaction_ids_run_out: transactionIdsRunOut,
      connections_run_out: connectionsRunOut,
      tenancy_wall_down: tenancyWallDown,
      certificate_ends: certificateEnds((config, databaseUrl) => {
        const { publicUrl, natsUrls = [], natsTlsFirst, natsAuthority, natsCertificate } = config;
        const bus = natsUrls.flatMap((url) => busServer(url, natsTlsFirst));
        return {
          servers: [...webServer(publicUrl), ...bus, ...databaseServer(databaseUrl)],
          files: { NATS_CA_FILE: natsAuthority, NATS_CERT_FILE: natsCertificate },
        };
      }),
      disk_filling: diskFilling,
      clocks_apart: clocksApart,
      nodes_of_two_versions: nodesOfTwoVersions,
      node_silent: nodeSilent,
    }),
    serviceMetrics(watchIncidents),
  ],
  actions: implement(selfHealingContract, {
    "self-healing.fixes": listFixes,
    "self-healing.confirm": confirmFix,
    "self-healing.remove": removeFix,
    "self-healing.seed": seedFixes,
    "self-healing.stats": readStats,
    "self-healing.incidents": listIncidents,
    "self-healing.look": ({ broker, runtime }) => {
      const { requestTimeoutMs } = runtime.config;
      const msMax = Math.min(lookNowMsMax, Math.max(requestTimeoutMs - reserveMs, requestTimeoutMs / 2));
      return detectFaults({ broker, runtime }, "all", msMax);
    },
  }),
  // One job per fault, however often it is suspected before it runs.
  events: listen({
    "faults.suspected": async ({ code }, { database: db }) => {
      if (faultOf(code) === undefined) return;
      await db.write(platform, system, {
        text: "select add_task('self-healing.suspect', payload := json_build_object('code', $1::text), job_key := 'self-healing.suspect:' || $1)",
        values: [code],
      });
    },
  }),
};

export default selfHealing;
