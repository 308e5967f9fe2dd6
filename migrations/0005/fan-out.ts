// fan_out_queue: events that have not become deliveries yet, put there with the event by the database itself, whoever
//   writes it, and only when somebody of the tenant is told of anything: nobody else's changes pay for it. Events commit
//   out of the order of their ids, so a row each, and not "all up to this id". A row dies when its deliveries are made.
// There is no NOTIFY: it would make all commits queue for one lock. Workers look four times a second.
import { policiesOf } from "../policies.ts";

export const fanOut = `
create table fan_out_queue (
  tenant_id integer not null references tenants on delete cascade,
  event_id bigint not null,
  primary key (tenant_id, event_id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create function queue_events() returns trigger language plpgsql as $$
begin
  insert into fan_out_queue (tenant_id, event_id)
    select e.tenant_id, e.id from new_events e
    where exists (select from delivery_targets t
      where t.tenant_id = e.tenant_id and t.deleted_at is null and t.is_active);
  return null;
end $$;
create trigger queue_for_fan_out after insert on events referencing new table as new_events
  for each statement execute function queue_events();

${policiesOf("fan_out_queue")}
grant insert on fan_out_queue to records_app;
grant select, insert, update, delete on fan_out_queue to records_platform;
`;
