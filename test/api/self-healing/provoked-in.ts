// Where each fault of the catalogue is provoked on the running service. A fault that is on no list does not compile here, and
// each of the files says at its end that it has provoked those that are its own.
import type { FaultCode } from "../../../mixins/healing/catalogue.ts";

type Place = "provoked" | "outside" | "nodes";

const places = {
  job_worker_gone: "provoked",
  job_gave_up: "provoked",
  jobs_waiting: "provoked",
  jobs_failing: "outside",
  delivery_stuck: "provoked",
  webhook_failing: "provoked",
  outbox_lagging: "provoked",
  link_left_behind: "provoked",
  messenger_registration_lost: "outside",
  messenger_silent: "outside",
  payments_unverified: "outside",
  session_idle_in_transaction: "provoked",
  user_counts_differ: "provoked",
  department_head_gone: "provoked",
  expired_rows_pile_up: "provoked",
  purge_overdue: "provoked",
  log_beyond_retention: "provoked",
  cache_differs: "outside",
  audit_chain_broken: "provoked",
  audit_proof_overdue: "provoked",
  sealed_unreadable: "provoked",
  rotation_stalled: "provoked",
  backup_job_abandoned: "provoked",
  backup_overdue: "provoked",
  proof_overdue: "provoked",
  backup_object_missing: "provoked",
  object_without_backup: "provoked",
  upload_leftovers: "outside",
  freeze_left_behind: "provoked",
  invalid_index: "provoked",
  statistics_stale: "provoked",
  vacuum_behind: "provoked",
  transaction_ids_run_out: "provoked",
  connections_run_out: "outside",
  tenancy_wall_down: "outside",
  certificate_ends: "outside",
  disk_filling: "nodes",
  clocks_apart: "nodes",
  nodes_of_two_versions: "nodes",
  node_silent: "nodes",
} as const satisfies Record<FaultCode, Place>;

export function provokedIn(place: Place): string[] {
  return Object.entries(places)
    .filter(([, each]) => each === place)
    .map(([code]) => code)
    .sort();
}
