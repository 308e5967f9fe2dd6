// database_logins: which login may leave which traces: one row per login, written by provisioning from the declared
//   rights of its services (host/database/grants). A row dies when its login is no longer declared. Nothing in
//   it is secret. What it says counts for the session's own login, whatever role that has taken up.
// The two ways into the log ask it, and whether an entry is within its bounds and written as RFC 8785 has it (not by a
// constraint of the table: PostgreSQL reads its text anew for each statement, which would cost half of what an entry
// costs). Who is not in it and yet may write is the owner, or somebody the owner gave that right.
const beyondBounds = (entry: string) =>
  `octet_length(${entry}.changes::text) > 65536 or octet_length(${entry}.action) > 100
    or octet_length(${entry}.target_type) > 100 or octet_length(${entry}.target_id) > 1000 or octet_length(${entry}.ip) > 100
    or octet_length(${entry}.user_agent) > 2000 or octet_length(${entry}.request_id) > 100`;

export const entries = `
create table database_logins (
  login name primary key,
  services text[] not null,
  -- Resources (of "resource.verb") whose entries it may write, and whether refusals of any action.
  audits text[] not null,
  refuses boolean not null,
  -- Kinds of events.
  tells text[] not null,
  -- Tasks beside those of its own services.
  enqueues text[] not null
);

create or replace function audit_chain() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  head record;
begin
  if not audit_is_canonical(new.changes) then
    raise exception 'the changes of an entry must be canonical JSON (RFC 8785)' using errcode = 'check_violation';
  end if;
  if ${beyondBounds("new")} then
    raise exception 'an entry of the log is too long' using errcode = 'check_violation';
  end if;
  for tried in 1..2 loop
    select h.seq, h.hash, (select l from database_logins l where l.login = session_user) as writer into head
      from audit_heads h where h.tenant_id = new.tenant_id for update;
    exit when found;
    insert into audit_heads values (new.tenant_id, 0, decode(repeat('00', 32), 'hex')) on conflict do nothing;
  end loop;
  -- With an argument the entry is of a function of ours, whoever set it off.
  if tg_nargs = 0 and split_part(new.action, '.', 1) <> all ((head.writer).audits)
      and not ((head.writer).refuses and new.outcome <> 'ok') then
    raise exception 'entries of % are not this login''s to write', new.action using errcode = 'insufficient_privilege';
  end if;
  new.seq := head.seq + 1;
  new.created_at := clock_timestamp();
  new.prev_hash := head.hash;
  new.hash := sha256(head.hash || convert_to(audit_canonical(new), 'UTF8'));
  update audit_heads set seq = new.seq, hash = new.hash where tenant_id = new.tenant_id;
  return new;
end $$;

create or replace function append_entries(
  tenant integer, places integer[], user_ids integer[], actions text[], target_types text[], target_ids text[],
  outcomes text[], changes json[], ips text[], user_agents text[], request_ids text[]
) returns void language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  wanted integer := case when places is null then coalesce(cardinality(actions), 0) else cardinality(places) end;
  head record;
  entry audit_entries;
  entries audit_entries[];
  place integer;
  checked_action text := '';
  checked_changes text := '';
begin
  if tenant is distinct from app_tenant() and current_setting('role') <> session_user || '_platform' then
    raise exception 'the log of another tenant' using errcode = 'insufficient_privilege';
  end if;
  if wanted = 0 then
    return;
  end if;
  for tried in 1..2 loop
    select h.seq, h.hash, (select l.audits from database_logins l where l.login = session_user) as allowed into head
      from audit_heads h where h.tenant_id = tenant for update;
    exit when found;
    insert into audit_heads values (tenant, 0, decode(repeat('00', 32), 'hex')) on conflict do nothing;
  end loop;
  entry.tenant_id := tenant;
  entry.created_at := clock_timestamp();
  for nth in 1..wanted loop
    place := case when places is null then nth else places[nth] end;
    head.seq := head.seq + 1;
    entry.id := nextval('audit_entries_id_seq');
    entry.seq := head.seq;
    entry.user_id := user_ids[place];
    entry.action := actions[place];
    entry.target_type := target_types[place];
    entry.target_id := target_ids[place];
    entry.outcome := outcomes[place];
    entry.changes := changes[place];
    entry.ip := ips[place];
    entry.user_agent := user_agents[place];
    entry.request_id := request_ids[place];
    -- Most entries of a batch are alike.
    if entry.action is distinct from checked_action then
      if split_part(entry.action, '.', 1) <> all (head.allowed) then
        raise exception 'entries of % are not this login''s to write', entry.action using errcode = 'insufficient_privilege';
      end if;
      checked_action := entry.action;
    end if;
    if ${beyondBounds("entry")} then
      raise exception 'an entry of the log is too long' using errcode = 'check_violation';
    end if;
    if entry.changes::text is distinct from checked_changes then
      if not audit_is_canonical(entry.changes) then
        raise exception 'the changes of an entry must be canonical JSON (RFC 8785)' using errcode = 'check_violation';
      end if;
      checked_changes := entry.changes::text;
    end if;
    entry.prev_hash := head.hash;
    head.hash := sha256(head.hash || convert_to(audit_canonical(entry), 'UTF8'));
    entry.hash := head.hash;
    entries[nth] := entry;
  end loop;
  insert into audit_entries overriding system value select * from unnest(entries);
  update audit_heads set seq = head.seq, hash = head.hash where tenant_id = tenant;
end $$;
`;
