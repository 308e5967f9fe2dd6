// What is shown of work in the background, and of what keeps data safe.
import { rate, type Row } from "./panel.ts";

export const rowsOfWork: readonly Row[] = [
  {
    title: "Work in the background",
    panels: [
      {
        title: "Jobs by state",
        says: "failed: all tries are spent.",
        unit: "short",
        drawnAs: "jobs",
        queries: [{ expr: "sum by (state) (max by (task, state) (records_jobs))", legend: "{{state}}" }],
      },
      {
        title: "Oldest job that is due",
        says: "By task. A worker takes what is due within seconds.",
        unit: "s",
        queries: [{ expr: "topk(5, max by (task) (records_jobs_oldest_age_seconds))", legend: "{{task}}" }],
      },
      {
        title: "Jobs that were run",
        says: "By how they ended; a failed one is tried again.",
        unit: "ops",
        queries: [
          { expr: `sum by (outcome) (rate(records_job_seconds_count${rate}))`, legend: "{{outcome}}" },
        ],
      },
      {
        title: "Deliveries",
        says: "Tries by outcome.",
        unit: "ops",
        drawnAs: "deliveries",
        queries: [
          {
            expr: `sum by (channel, outcome) (rate(records_delivery_seconds_count${rate}))`,
            legend: "{{channel}}: {{outcome}}",
          },
        ],
      },
      {
        title: "How far deliveries lag",
        says: "Age of the oldest event in the outbox, and how long the delivery that is due for longest is due.",
        unit: "s",
        queries: [
          { expr: "max(records_outbox_lag_seconds)", legend: "outbox" },
          { expr: "max by (channel) (records_deliveries_lag_seconds)", legend: "{{channel}}" },
        ],
      },
      {
        title: "What waits to be told",
        says: "Deliveries and events that wait, and webhooks that nothing but failures come from.",
        unit: "short",
        queries: [
          { expr: "max by (channel) (records_deliveries_pending)", legend: "{{channel}}" },
          { expr: "max(records_outbox_events)", legend: "outbox" },
          { expr: "max(records_webhooks_failing)", legend: "webhooks failing" },
        ],
      },
      {
        title: "Payments",
        says: "Changes by the state after them, and notifications that were not believed.",
        unit: "ops",
        drawnAs: "payments",
        queries: [
          { expr: `sum by (status) (rate(records_payments_total${rate}))`, legend: "{{status}}" },
          {
            expr: `sum(rate(records_payment_notifications_total{state="unverified"}${rate}))`,
            legend: "unverified",
          },
        ],
      },
    ],
  },
  {
    title: "Safety",
    panels: [
      {
        title: "Open incidents by fault",
        says: "Empty is good.",
        unit: "short",
        queries: [
          {
            expr: "max by (fault, severity) (records_incidents_open) > 0",
            legend: "{{fault}} ({{severity}})",
          },
        ],
      },
      {
        title: "Ages",
        says: "Of the newest full backup, the last trial restore, the last checkpoint and the audit proof.",
        unit: "s",
        queries: [
          { expr: "time() - max(records_backup_timestamp_seconds)", legend: "backup" },
          { expr: "time() - max(records_backup_proof_timestamp_seconds)", legend: "trial restore" },
          { expr: "time() - max(records_audit_checkpoint_timestamp_seconds)", legend: "checkpoint" },
          { expr: "time() - max(records_audit_proof_timestamp_seconds)", legend: "audit proof" },
        ],
      },
      {
        title: "Size of the newest backup",
        says: "A sudden change means that something is missing, or new.",
        unit: "bytes",
        queries: [{ expr: "max(records_backup_size_bytes)", legend: "full backup" }],
      },
      {
        title: "Last jobs of backups",
        says: "1: the last one went well.",
        unit: "short",
        queries: [{ expr: "max by (kind) (records_backup_job_ok)", legend: "{{kind}}" }],
      },
      {
        title: "Rotation of the key",
        says: "How much of the last one is done, and whether it runs.",
        unit: "percentunit",
        queries: [
          { expr: "max(records_rotation_progress_ratio)", legend: "done" },
          { expr: "max(records_rotation_running)", legend: "running" },
        ],
      },
    ],
  },
];
