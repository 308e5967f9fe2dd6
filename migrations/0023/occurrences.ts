// schedule_occurrences: which occurrence of a schedule was made into a job. A job is gone a second after it is done, and the
// clocks of processes differ by up to a minute, so the job's key alone lets a late process make it once more.
// Life: a row is added with the job, in one statement, and never changes. Whoever adds the task's next one deletes those
// that are two days old: so there are at most as many as a task is due in three days.
// No login reads or writes it: add_due_task does, as records_internal.
export const occurrences = `
create table schedule_occurrences (
  task text not null check (length(task) between 3 and 100),
  due timestamptz not null check (due = date_trunc('minute', due)),
  primary key (task, due)
);
alter table schedule_occurrences enable row level security;
alter table schedule_occurrences force row level security;
create policy internal on schedule_occurrences to records_internal using (true);
grant select, insert, delete on schedule_occurrences to records_internal;
`;

// The caller's right to the task is looked at by add_task, and what is refused there leaves no row.
export const addDueTask = `
create function add_due_task(due_task text, due_at timestamptz, attempts integer, queue text) returns boolean
  language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare minute timestamptz := date_trunc('minute', due_at);
begin
  if minute not between now() - interval '1 day' and now() + interval '1 day' then
    raise exception 'the clock of this process is more than a day off' using errcode = 'invalid_parameter_value';
  end if;
  delete from schedule_occurrences o where o.task = due_task and o.due < now() - interval '2 days';
  insert into schedule_occurrences (task, due) values (due_task, minute) on conflict do nothing;
  if not found then
    return false;
  end if;
  perform add_task(due_task, job_key := due_task || ':' || to_char(minute at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI'),
    job_key_mode := 'unsafe_dedupe', max_attempts := attempts, queue_name := queue);
  return true;
end $$;

do $$
begin
  grant create on schema public to records_internal;
  revoke all on function add_due_task(text, timestamptz, integer, text) from public;
  alter function add_due_task(text, timestamptz, integer, text) owner to records_internal;
  revoke create on schema public from records_internal;
end $$;
`;
