// Whoever changes a user or a tenant leaves an entry, also by a stolen login or at the owner's prompt. The services write
// their own, in the same transaction; at its end a trigger looks for one about this very user or tenant, and where there is
// none it writes "user.altered" or "tenant.altered", with the login, what was done, and the names of the columns.
// A transaction holds the head of a tenant's chain from its first entry on, so its entries are the last of the chain.
export const traces = `
create function is_on_record(whose integer, kind text, what text) returns boolean language plpgsql
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
    for each in select e.xmin as written_by, e.action, e.target_type, e.target_id from audit_entries e
        where e.tenant_id = whose and e.seq > top - block and e.seq <= top order by e.seq desc loop
      if each.written_by <> pg_current_xact_id()::xid then
        return false;
      end if;
      -- A restore of the tenant puts rows in the place of others, and says so once.
      if each.action = 'restore.finish' then
        return true;
      end if;
      -- What this trigger wrote of another change of the row says nothing of this one.
      if each.target_type = kind and each.target_id = what and each.action not like '%.altered' then
        return true;
      end if;
    end loop;
    top := top - block;
  end loop;
end $$;

-- columns: those that differ; none: the row came or went.
create function leave_trace(whose integer, kind text, what text, operation text, columns text[]) returns void
  language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if not starts_with(coalesce(current_setting('records.traced', true), ''), pg_current_xact_id() || ' ' || whose || ' ') then
    perform set_config('records.traced', concat_ws(' ', pg_current_xact_id(), whose,
      coalesce((select seq from audit_heads where tenant_id = whose), 0) + 1), true);
  end if;
  insert into audit_entries (tenant_id, action, target_type, target_id, outcome, changes) values (whose, kind || '.altered',
    kind, what, 'ok', ('{"columns":[' || coalesce((select string_agg(to_json(name)::text, ',' order by name collate "C")
      from unnest(columns) name), '') || '],"login":' || to_json(session_user::text) || ',"operation":'
      || to_json(lower(operation)) || '}')::json);
end $$;

create function trace_user() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  whose integer := case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end;
  what text := case tg_op when 'DELETE' then old.id else new.id end;
  columns text[];
begin
  -- Purged with its tenant, of which an entry tells.
  if tg_op = 'DELETE' and not exists (select from tenants where id = whose) then
    return null;
  end if;
  if tg_op = 'UPDATE' then
    columns := array(select o.key from json_each_text(to_json(old)) o join json_each_text(to_json(new)) n using (key)
      where o.value is distinct from n.value and key <> 'search_text');
    -- Of a deleted user, whose department went.
    if columns = '{department_id}' and new.department_id is null and new.deleted_at is not null then
      return null;
    end if;
  end if;
  if not is_on_record(whose, 'user', what) then
    perform leave_trace(whose, 'user', what, tg_op, columns);
  end if;
  return null;
end $$;

create function trace_tenant() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  whose integer := case tg_op when 'DELETE' then old.id else new.id end;
  columns text[];
begin
  if tg_op = 'UPDATE' then
    columns := array(select o.key from json_each_text(to_json(old)) o join json_each_text(to_json(new)) n using (key)
      where o.value is distinct from n.value);
    if columns = '{}' then
      return null;
    end if;
  end if;
  if not is_on_record(whose, 'tenant', whose::text) then
    perform leave_trace(whose, 'tenant', whose::text, tg_op, columns);
  end if;
  return null;
end $$;

create constraint trigger trace after insert or delete on users deferrable initially deferred
  for each row execute function trace_user();
create constraint trigger trace_update after update on users deferrable initially deferred
  for each row when (old.* is distinct from new.*) execute function trace_user();
-- Their settings are JSON, which cannot be compared here.
create constraint trigger trace after insert or update or delete on tenants deferrable initially deferred
  for each row execute function trace_tenant();

drop trigger chain on audit_entries;
create trigger chain before insert on audit_entries for each row
  when (current_user not in ('records_chain', 'records_internal')) execute function audit_chain();
create trigger chain_internal before insert on audit_entries for each row
  when (current_user = 'records_internal') execute function audit_chain('internal');
`;
