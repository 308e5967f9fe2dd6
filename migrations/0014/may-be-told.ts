// Whom a chat is told of: of a patient (and what is written about one) only while its user may see that patient, by the
// patient's department as it is now; a deleted one is where it was. An event that names no patient of the tenant is
// told to no chat. Webhooks are the tenant's own and are told of all.
// One place for who makes deliveries and for who sends them. plpgsql keeps its plan, and the fan-out asks it per target.
export const mayBeTold = `
create function may_be_told(tenant integer, target integer, target_channel text, kind text, payload json)
  returns boolean language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
begin
  if target_channel <> 'messenger' or split_part(kind, '.', 1) not in ('patient', 'record') then
    return true;
  end if;
  return exists (
    select from messenger_links l
    join users u on u.tenant_id = l.tenant_id and u.id = l.user_id
    join patients p on p.tenant_id = l.tenant_id
      and p.id = substring(payload ->> 'patient_id' from '^[0-9]{1,10}$')::bigint
    where l.tenant_id = tenant and l.id = target
      and (u.can_see_all_patients or p.department_id = u.department_id));
end $$;
revoke all on function may_be_told from public;
grant execute on function may_be_told to records_platform;
`;
