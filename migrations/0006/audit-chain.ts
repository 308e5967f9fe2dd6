// The two functions behind the audit chain, at two thirds of the price and with the same results: plpgsql computes the
// canonical text itself, where a function in SQL that calls stable ones is started anew each time, and a head is
// inserted only where there is none. It is the largest part of what a payment's notification costs the database.
export const auditChain = `
create or replace function audit_chain() returns trigger language plpgsql security definer set search_path = public as $$
declare head audit_heads;
begin
  select * into head from audit_heads where tenant_id = new.tenant_id for update;
  if not found then
    insert into audit_heads values (new.tenant_id, 0, decode(repeat('00', 32), 'hex')) on conflict do nothing;
    select * into head from audit_heads where tenant_id = new.tenant_id for update;
  end if;
  new.seq := head.seq + 1;
  new.created_at := clock_timestamp();
  new.prev_hash := head.hash;
  new.hash := sha256(head.hash || convert_to(audit_canonical(new), 'UTF8'));
  update audit_heads set seq = new.seq, hash = new.hash where tenant_id = new.tenant_id;
  return new;
end $$;
create or replace function audit_canonical(e audit_entries) returns text language plpgsql immutable as $$
begin
  return '{"action":' || to_json(e.action)
    || ',"changes":' || e.changes
    || ',"created_at":"' || to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    || '","id":' || e.id
    || ',"ip":' || coalesce(to_json(e.ip)::text, 'null')
    || ',"outcome":' || to_json(e.outcome)
    || ',"request_id":' || coalesce(to_json(e.request_id)::text, 'null')
    || ',"seq":' || e.seq
    || ',"target_id":' || coalesce(to_json(e.target_id)::text, 'null')
    || ',"target_type":' || coalesce(to_json(e.target_type)::text, 'null')
    || ',"tenant_id":' || e.tenant_id
    || ',"user_agent":' || coalesce(to_json(e.user_agent)::text, 'null')
    || ',"user_id":' || coalesce(e.user_id::text, 'null') || '}';
end $$;
`;
