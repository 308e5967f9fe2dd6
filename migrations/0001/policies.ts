// Row-level security. The search function is the one door in it: LIKE is not leakproof, so under a policy it could not
// use the trigram index. The function runs as records_search, whose policy is constant, pins the tenant itself and
// gives out ids only.
export const policies = `
do $$
declare
  name text;
  tenant_column text;
begin
  foreach name in array array['tenants', 'departments', 'users', 'user_counts', 'preferences', 'sessions',
                              'mail_tokens', 'lockouts', 'audit_entries', 'audit_heads', 'events'] loop
    tenant_column := case name when 'tenants' then 'id' else 'tenant_id' end;
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy one_tenant on %I to records_app using (%I = app_tenant())', name, tenant_column);
    execute format('create policy every_tenant on %I to records_platform using (true)', name);
  end loop;
end $$;

grant select, insert, update, delete on departments, users, preferences, sessions, mail_tokens, lockouts, user_counts
  to records_app, records_platform;
grant select, insert, update, delete on tenants to records_platform;
grant select, update on tenants to records_app;
grant select on audit_heads to records_app, records_platform;
grant select, insert on audit_entries, events to records_app, records_platform;
grant delete on events to records_platform;
grant select, insert, update, delete on rate_limits to records_app, records_platform;

-- The chain's trigger runs as the owner, whom FORCE holds to the policies as well: it needs its own.
do $$
begin
  execute format('create policy chain_owner on audit_heads to %I using (true)', current_user);
end $$;

grant select (id, tenant_id, search_text, deleted_at, role, is_active, email, full_name, created_at)
  on users to records_search;
create policy searched_by_the_function on users for select to records_search using (true);

-- One page of ids in the order asked for, each row with the exact total (one row with a null id when the page is empty).
-- The statement is planned for each term, because a rare and a common one want different plans. "rows" is what the
-- caller's planner expects of it: with the default of 1000 it would read the whole tenant to join a page of 50.
create function search_user_ids(
  term text, wanted_role text, wanted_state boolean, sort text, descending boolean, page_limit integer, page_offset integer
) returns table (found_id integer, total integer) language plpgsql stable security definer rows 50
  set search_path = public as $$
declare
  sort_key text := case sort when 'email' then 'lower(email)' when 'full_name' then 'lower(full_name)'
    when 'role' then 'role' when 'is_active' then 'is_active' when 'created_at' then 'created_at' else 'id' end;
  direction text := case when descending then 'desc' else 'asc' end;
begin
  return query execute 'with hits as materialized (
      select id, ' || sort_key || ' as sort_key from users
      where tenant_id = $1 and deleted_at is null and search_text like $2'
      || case when wanted_role is null then '' else ' and role = $3' end
      || case when wanted_state is null then '' else ' and is_active = $4' end || ')
    select page.id, counted.total from (select count(*)::integer as total from hits) counted
    left join lateral (select id from hits order by sort_key ' || direction || ', id ' || direction || '
      limit $5 offset $6) page on true'
    using app_tenant(), term, wanted_role, wanted_state, page_limit, page_offset;
end $$;
revoke all on function search_user_ids from public;
grant execute on function search_user_ids to records_app;
`;

// The owner changes hands of the search function only here, at the end: CREATE FUNCTION made it ours.
export const searchOwner = `
do $$
begin
  execute format('grant records_search to %I', current_user);
  grant create on schema public to records_search;
  alter function search_user_ids owner to records_search;
  revoke create on schema public from records_search;
end $$;
`;
