// The schema of the job queue and its policies: a login sees only the jobs and queues of its services' tasks, and cannot insert
// jobs directly (see add_task in migrations/0018).
import { runMigrations } from "graphile-worker";
import type pg from "pg";

/** graphile-worker enables row-level security without policies, so everything that no policy allows is refused. */
const policies = `
  grant usage on schema graphile_worker to records_internal;
  grant select, insert, update on graphile_worker._private_jobs, graphile_worker._private_tasks,
    graphile_worker._private_job_queues to records_internal;
  do $$
  declare name text;
  begin
    foreach name in array array['_private_jobs', '_private_tasks', '_private_job_queues', '_private_known_crontabs'] loop
      execute format('drop policy if exists records on graphile_worker.%I', name);
      execute format('drop policy if exists internal on graphile_worker.%I', name);
      execute format('drop policy if exists seen on graphile_worker.%I', name);
      execute format('drop policy if exists own on graphile_worker.%I', name);
      execute format('create policy internal on graphile_worker.%I to records_internal using (true)', name);
    end loop;
  end $$;
  create policy seen on graphile_worker._private_tasks for select to records_app using (true);
  create policy own on graphile_worker._private_tasks for insert to records_app with check (exists (
    select from public.database_logins l
    where l.login = session_user and split_part(identifier, '.', 1) = any(l.services)));
  create policy own on graphile_worker._private_job_queues to records_app using (exists (
    select from public.database_logins l
    where l.login = session_user and split_part(queue_name, '.', 1) = any(l.services)));
  create policy seen on graphile_worker._private_known_crontabs for select to records_app using (true);
  create policy own on graphile_worker._private_jobs to records_app using (task_id in (
    select t.id from graphile_worker._private_tasks t join public.database_logins l on l.login = session_user
    where split_part(t.identifier, '.', 1) = any(l.services)));
`;

/** Creates the queue's schema and policies unless they exist. */
export async function provisionJobs(owner: pg.Client, ownerUrl: string): Promise<void> {
  const { rows } = await owner.query<{ ready: boolean }>(
    `select exists (select from pg_policies where schemaname = 'graphile_worker' and tablename = '_private_job_queues'
       and policyname = 'own') as ready`,
  );
  if (rows[0]?.ready === true) return;
  await runMigrations({ connectionString: ownerUrl, maxPoolSize: 1 });
  await owner.query(policies);
}
