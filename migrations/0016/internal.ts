// records_internal: as whom run the few functions that touch another service's tables on behalf of who set them off, so
// that no login needs the right to. Nobody can take it up; the owner is a member to hand the functions over.
// add_task: the one way to a job. A login adds tasks of its services and those it was given (a webhook's mail), under keys
// that begin with the task's name, as a key takes the place of another job's.
export const internalRole = `
do $$
begin
  if not exists (select from pg_roles where rolname = 'records_internal') then
    begin
      create role records_internal nologin nosuperuser nobypassrls nocreaterole nocreatedb;
    exception when duplicate_object or unique_violation then null; -- another database of this server was quicker
    end;
  end if;
end $$;
grant usage on schema public to records_internal;
grant select on database_logins to records_internal, records_chain;

do $$
declare name text;
begin
  foreach name in array array['tenants', 'audit_entries', 'audit_heads', 'fan_out_queue', 'delivery_targets',
                              'messenger_links', 'users', 'patients'] loop
    execute format('create policy internal on %I to records_internal using (true)', name);
  end loop;
end $$;
grant select (id) on tenants to records_internal;
grant select (tenant_id, seq, action, target_type, target_id, xmin) on audit_entries to records_internal;
grant insert (tenant_id, action, target_type, target_id, outcome, changes) on audit_entries to records_internal;
grant select (tenant_id, seq) on audit_heads to records_internal;
grant insert on fan_out_queue to records_internal;
grant select (id, tenant_id, deleted_at, is_active), update (is_active, deleted_at, updated_at) on delivery_targets
  to records_internal;
-- Whom a chat may be told of (may_be_told in 0014): no process that tells needs to see patients for it.
grant select (id, tenant_id, department_id, can_see_all_patients) on users to records_internal;
grant select (id, tenant_id, department_id) on patients to records_internal;
grant select (id, tenant_id, user_id, ended_at), update (ended_at, ended_reason) on messenger_links to records_internal;
`;

export const internalFunctions = `
create or replace function queue_events() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare writer record;
begin
  select l.tells into writer from database_logins l where l.login = session_user;
  if exists (select from new_events e where e.kind <> all (writer.tells)) then
    raise exception 'events of this kind are not this login''s to tell' using errcode = 'insufficient_privilege';
  end if;
  insert into fan_out_queue (tenant_id, event_id)
    select e.tenant_id, e.id from new_events e
    where exists (select from delivery_targets t
      where t.tenant_id = e.tenant_id and t.deleted_at is null and t.is_active);
  return null;
end $$;

create function add_task(
  task text, payload json default null, job_key text default null, job_key_mode text default 'replace',
  max_attempts integer default null, queue_name text default null, run_at timestamptz default null
) returns void language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare adder record;
begin
  select l.services, l.enqueues into adder from database_logins l where l.login = session_user;
  if split_part(task, '.', 1) <> all (adder.services) and task <> all (adder.enqueues) then
    raise exception 'the task % is not this login''s to add', task using errcode = 'insufficient_privilege';
  end if;
  if not starts_with(job_key, task || ':') then
    raise exception 'the key of a job must begin with its task' using errcode = 'insufficient_privilege';
  end if;
  perform graphile_worker.add_job(task, payload := payload, job_key := job_key, job_key_mode := job_key_mode,
    max_attempts := max_attempts, queue_name := queue_name, run_at := run_at);
end $$;

alter function follow_messenger_user() security definer set search_path = pg_catalog, public, pg_temp;
alter function follow_messenger_tenant() security definer set search_path = pg_catalog, public, pg_temp;
alter function may_be_told(integer, integer, text, text, json) security definer;

do $$
declare name regproc;
begin
  execute format('grant records_internal to %I', current_user);
  grant create on schema public to records_internal;
  foreach name in array array['queue_events', 'add_task', 'follow_messenger_user', 'follow_messenger_tenant',
                              'may_be_told', 'trace_user', 'trace_tenant', 'leave_trace',
                              'is_on_record']::regproc[] loop
    execute format('revoke all on function %s from public', name);
    execute format('alter function %s owner to records_internal', name);
  end loop;
  revoke create on schema public from records_internal;
end $$;
`;
