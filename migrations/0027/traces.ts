// events.trace, deliveries.trace: where the trace is recorded in which an event was told, W3C's `traceparent`, so that its
// deliveries, whenever and wherever they are made, are part of it. Null for all others. It lives and dies with its row. Adding a
// column that may be null rewrites nothing, and a program that does not know it goes on.

const shape = "trace ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-01$'";

export const traces = `
alter table events add column trace text;
alter table events add constraint events_trace check (${shape}) not valid;
alter table deliveries add column trace text;
alter table deliveries add constraint deliveries_trace check (${shape}) not valid;
`;
