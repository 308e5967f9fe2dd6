// Whoever blocks or deletes a user, or deletes a tenant, ends the chat's link in the very transaction: nothing of a later
// event is sent. The audit entry, and the word to the chat, come by a job: an entry made here would lock the tenant's
// chain before the transaction's own rows. A change of role leaves the link and has its events looked at again.
export const followUsers = `
create function follow_messenger_user() returns trigger language plpgsql as $$
declare
  reason text := case when new.deleted_at is not null then 'user_deleted' when not new.is_active then 'user_blocked' end;
begin
  if not exists (select from messenger_links l
      where l.tenant_id = new.tenant_id and l.user_id = new.id and l.ended_at is null) then
    return null;
  end if;
  if reason is not null then
    with ended as (
      update messenger_links l set ended_at = clock_timestamp(), ended_reason = reason
      where l.tenant_id = new.tenant_id and l.user_id = new.id and l.ended_at is null returning l.id
    )
    update delivery_targets t set is_active = false, deleted_at = clock_timestamp(), updated_at = clock_timestamp()
    from ended where t.tenant_id = new.tenant_id and t.id = ended.id;
  end if;
  perform graphile_worker.add_job('messenger.follow',
    json_build_object('tenant_id', new.tenant_id, 'user_id', new.id));
  return null;
end $$;
create trigger follow_messenger after update of role, is_active, deleted_at on users for each row
  when (old.role <> new.role or old.is_active <> new.is_active or old.deleted_at is distinct from new.deleted_at)
  execute function follow_messenger_user();

-- Its targets stay: a deleted tenant is told nothing anyhow, and they are swept with it.
create function follow_messenger_tenant() returns trigger language plpgsql as $$
begin
  update messenger_links set ended_at = clock_timestamp(), ended_reason = 'tenant_deleted'
    where tenant_id = new.id and ended_at is null;
  if found then
    perform graphile_worker.add_job('messenger.follow', json_build_object('tenant_id', new.id));
  end if;
  return null;
end $$;
create trigger follow_messenger after update of deleted_at on tenants for each row
  when (old.deleted_at is null and new.deleted_at is not null)
  execute function follow_messenger_tenant();
`;
