// What is shown of now, of requests, sign-ins, actions and the bus.
import { quantile, rate, type Row } from "./panel.ts";

export const rowsOfRequests: readonly Row[] = [
  {
    title: "Now",
    panels: [
      {
        title: "Requests answered without a fault",
        says: "Share of requests that were not answered with 5xx.",
        unit: "percentunit",
        isNumber: true,
        queries: [
          {
            expr: `1 - (sum(rate(records_http_request_seconds_count{status=~"5.."}${rate})) or vector(0)) / sum(rate(records_http_request_seconds_count${rate}))`,
            legend: "without a fault",
          },
        ],
      },
      {
        title: "Open incidents",
        says: "Faults that are found and not mended.",
        unit: "short",
        isNumber: true,
        queries: [{ expr: "sum(max by (fault) (records_incidents_open))", legend: "open" }],
      },
      {
        title: "Age of the newest backup",
        says: "Of the newest full one. Empty before the first.",
        unit: "s",
        isNumber: true,
        queries: [{ expr: "time() - max(records_backup_timestamp_seconds)", legend: "age" }],
      },
      {
        title: "Age of the audit proof",
        says: "Since when every audit log was proved from its first entry on.",
        unit: "s",
        isNumber: true,
        queries: [{ expr: "time() - max(records_audit_proof_timestamp_seconds)", legend: "age" }],
      },
    ],
  },
  {
    title: "Requests",
    panels: [
      {
        title: "Requests by status",
        says: "499: the client went before the answer was there.",
        unit: "reqps",
        drawnAs: "requests",
        queries: [
          {
            expr: `sum by (status) (rate(records_http_request_seconds_count${rate}))`,
            legend: "{{status}}",
          },
        ],
      },
      {
        title: "Time to answer",
        says: "Half of the requests, 95 and 99 % of them are answered within this. Downloads count until their end.",
        unit: "s",
        drawnAs: "latency",
        queries: [0.5, 0.95, 0.99].map((of) => ({
          expr: quantile(of, "records_http_request_seconds"),
          legend: `${of * 100} %`,
        })),
      },
      {
        title: "Slowest routes",
        says: "95 % of a route's requests are answered within this.",
        unit: "s",
        queries: [
          {
            expr: `topk(5, ${quantile(0.95, "records_http_request_seconds", "route")})`,
            legend: "{{route}}",
          },
        ],
      },
      {
        title: "What gateways hold",
        says: "Bytes of requests' bodies and of answers that are not taken yet.",
        unit: "bytes",
        queries: [
          { expr: "sum(records_http_body_bytes)", legend: "bodies" },
          { expr: "sum(records_http_answer_bytes)", legend: "answers" },
        ],
      },
    ],
  },
  {
    title: "Sign-ins and actions",
    panels: [
      {
        title: "Sign-ins by outcome",
        says: "Many wrong passwords or unknown accounts at once are somebody who guesses.",
        unit: "ops",
        drawnAs: "sign-ins",
        queries: [
          { expr: `sum by (outcome) (rate(records_sign_ins_total${rate})) > 0`, legend: "{{outcome}}" },
        ],
      },
      {
        title: "Password checks that wait or run",
        says: "Each takes some 20 ms of a core. Many mean that sign-ins wait: start more processes with auth.",
        unit: "short",
        queries: [{ expr: "sum(records_password_queue_depth)", legend: "waiting or running" }],
      },
      {
        title: "Slowest actions",
        says: "95 % of an action's calls are done within this, where it runs.",
        unit: "s",
        queries: [
          { expr: `topk(5, ${quantile(0.95, "records_action_seconds", "action")})`, legend: "{{action}}" },
        ],
      },
      {
        title: "Actions that broke",
        says: "Calls that ended with a fault of ours.",
        unit: "ops",
        queries: [
          {
            expr: `sum by (action) (rate(records_action_seconds_count{outcome=~"internal_error|unavailable"}${rate})) or vector(0)`,
            legend: "{{action}}",
          },
        ],
      },
    ],
  },
  {
    title: "Bus",
    panels: [
      {
        title: "Calls over the bus",
        says: "95 % of the calls to another process are answered within this.",
        unit: "s",
        drawnAs: "bus",
        queries: [
          {
            expr: `topk(5, ${quantile(0.95, "records_bus_call_seconds", "action")})`,
            legend: "{{action}}",
          },
        ],
      },
      {
        title: "Bytes on the bus",
        says: "As they are on the wire, sealed.",
        unit: "Bps",
        queries: [
          { expr: `sum by (direction) (rate(records_bus_bytes_total${rate}))`, legend: "{{direction}}" },
        ],
      },
      {
        title: "Connection lost, messages dropped",
        says: "Dropped: not sealed by a process of this installation, or too old. Clocks apart show here as stale.",
        unit: "ops",
        queries: [
          { expr: `sum(rate(records_bus_disconnects_total${rate}))`, legend: "lost" },
          { expr: `sum(rate(records_bus_reconnects_total${rate}))`, legend: "back" },
          {
            expr: `sum by (reason) (rate(records_bus_dropped_total${rate}))`,
            legend: "dropped: {{reason}}",
          },
        ],
      },
    ],
  },
];
