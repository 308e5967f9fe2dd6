// Metrics of the signing and verification of the audit log.
import { known } from "../shared/cached-samples.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { readProofs } from "./checkpoints/log-states.ts";

const gauges = {
  records_audit_checkpoint_timestamp_seconds: { help: "When the audit log was last signed, since 1970" },
  records_audit_proof_timestamp_seconds: {
    help: "Since when every audit log was proved from its first entry on, since 1970",
  },
  records_audit_ok: { help: "1 where the last proofs found every audit log whole, else 0" },
} as const;

/** Registers the metrics, which are read from the database when they are collected. */
export function watchProofs(runtime: Runtime): void {
  runtime.metrics?.sample("audit", gauges, async () => {
    const { signed, proved, ok } = await readProofs(runtime.database);
    return [
      ...known("records_audit_checkpoint_timestamp_seconds", signed),
      ...known("records_audit_proof_timestamp_seconds", proved),
      ...known("records_audit_ok", ok),
    ];
  });
}
