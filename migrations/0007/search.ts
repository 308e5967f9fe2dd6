// Searching users by pieces of five characters. In the trigram index, which all tenants share, every piece of a name
// stands in tens of thousands of rows of a million; a list of five-character pieces that are hashed with the tenant as
// seed is about as short as the answer. Shorter words and the platform's search over all tenants keep the trigrams.
export const search = `
-- Fixed for ever: the index holds its results.
create function search_pieces(tenant integer, words text) returns integer[] language sql immutable strict parallel safe
  return array(select distinct hashtextextended(substr(words, at, 5), tenant)::bit(32)::integer
    from generate_series(1, length(words) - 4) at);

create index users_search_pieces on users using gin (search_pieces(tenant_id, search_text)) where deleted_at is null;

drop function search_user_ids(text, text, boolean, text, boolean, integer, integer);

-- One page of ids in the order asked for, each row with the exact total (one row with a null id when the page is empty).
-- The statement is planned for each word, because a rare and a common one want different plans. "rows" is what the
-- caller's planner expects of it: with the default of 1000 it would read the whole tenant to join a page of 50.
-- Appending nothing to search_text keeps the planner from the trigram index where the pieces serve. A long word is
-- found by its first pieces: the comparison decides.
create function search_user_ids(
  word text, pattern text, wanted_role text, wanted_state boolean, sort text, descending boolean,
  page_limit integer, page_offset integer
) returns table (found_id integer, total integer) language plpgsql stable security definer rows 50
  set search_path = public as $$
declare
  sort_key text := case sort when 'email' then 'lower(email)' when 'full_name' then 'lower(full_name)'
    when 'role' then 'role' when 'is_active' then 'is_active' when 'created_at' then 'created_at' else 'id' end;
  direction text := case when descending then 'desc' else 'asc' end;
  matches text := case when length(word) < 5 then 'search_text like $2'
    else 'search_pieces(tenant_id, search_text) @> search_pieces($1, $7) and search_text || '''' like $2' end;
begin
  return query execute 'with hits as materialized (
      select id, ' || sort_key || ' as sort_key from users
      where tenant_id = $1 and deleted_at is null and ' || matches
      || case when wanted_role is null then '' else ' and role = $3' end
      || case when wanted_state is null then '' else ' and is_active = $4' end || ')
    select page.id, counted.total from (select count(*)::integer as total from hits) counted
    left join lateral (select id from hits order by sort_key ' || direction || ', id ' || direction || '
      limit $5 offset $6) page on true'
    using app_tenant(), pattern, wanted_role, wanted_state, page_limit, page_offset, left(word, 30);
end $$;
revoke all on function search_user_ids from public;
grant execute on function search_user_ids to records_app;
`;
