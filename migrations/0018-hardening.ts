// Two things that a stolen login could do and its services never do: hold up the jobs of other logins' services, and hide
// the change of a user or a tenant behind an entry that says something else.
import { Migration } from "@mikro-orm/migrations";

// A queue runs one job at a time, so whoever puts a job of theirs into another service's queue, and holds it, stops that.
// (Which queues a login sees and holds is a policy of provision-jobs.ts, as the queue's own tables are made after this.)
const ownQueues = `
create or replace function add_task(
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
  if split_part(queue_name, '.', 1) <> split_part(task, '.', 1) then
    raise exception 'the queue % is not of the service of this task', queue_name using errcode = 'insufficient_privilege';
  end if;
  perform graphile_worker.add_job(task, payload := payload, job_key := job_key, job_key_mode := job_key_mode,
    max_attempts := max_attempts, queue_name := queue_name, run_at := run_at);
end $$;
`;

// What counts is an entry of the same kind ("user.…" about a user) that says that it was done: a sign-in, a change of
// preferences or a refusal is about the user too, and says nothing of a new password.
const onRecord = `
grant select (outcome) on audit_entries to records_internal;
create or replace function is_on_record(whose integer, kind text, what text) returns boolean language plpgsql
  security definer set search_path = pg_catalog, public, pg_temp set enable_seqscan = off as $$
declare
  block constant integer := 64;
  top bigint := (select seq from audit_heads where tenant_id = whose);
  traced text := current_setting('records.traced', true);
  each record;
begin
  -- Behind the first trace of this transaction there are only traces. Whoever sets this by hand gets more of them.
  if starts_with(traced, pg_current_xact_id() || ' ' || whose || ' ') then
    top := least(top, split_part(traced, ' ', 3)::bigint - 1);
  end if;
  loop
    if top is null or top < 1 then
      return false;
    end if;
    for each in select e.xmin as written_by, e.action, e.target_type, e.target_id, e.outcome from audit_entries e
        where e.tenant_id = whose and e.seq > top - block and e.seq <= top order by e.seq desc loop
      if each.written_by <> pg_current_xact_id()::xid then
        return false;
      end if;
      continue when each.outcome <> 'ok';
      -- A restore of the tenant puts rows in the place of others, and says so once.
      if each.action = 'restore.finish' then
        return true;
      end if;
      -- What this trigger wrote of another change of the row says nothing of this one.
      if each.target_type = kind and each.target_id = what and starts_with(each.action, kind || '.')
          and each.action not like '%.altered' then
        return true;
      end if;
    end loop;
    top := top - block;
  end loop;
end $$;
`;

export class Hardening extends Migration {
  override up(): void {
    this.addSql(ownQueues);
    this.addSql(onRecord);
  }
}
