// Roles and extensions that everything after stands on.
export const roles = `
do $$
declare wanted text;
begin
  foreach wanted in array array['records_app', 'records_platform', 'records_search'] loop
    if not exists (select from pg_roles where rolname = wanted) then
      begin
        execute format('create role %I nologin nosuperuser nobypassrls nocreaterole nocreatedb', wanted);
      exception when duplicate_object or unique_violation then null; -- another database of this server was quicker
      end;
    end if;
  end loop;
end $$;
revoke create on schema public from public;
grant usage on schema public to records_app, records_platform, records_search;
create extension if not exists pg_trgm;
create extension if not exists btree_gin;

create function app_tenant() returns integer language sql stable parallel safe
  return nullif(current_setting('app.tenant_id', true), '')::integer;
`;
