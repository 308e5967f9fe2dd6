// Whether a JSON text is written as RFC 8785 has it: then whoever recomputes an entry's hash from its fields comes to the
// same bytes. A little less than the RFC is accepted, and all that the services write: keys are printable ASCII without
// quote and backslash, so that they sort alike by bytes and by UTF-16, and numbers are whole up to 2^53 - 1, or plain
// decimals from a millionth on. One in many billions of those with 16 or 17 digits is refused though it is canonical.
export const canonical = String.raw`
create function json_is_canonical(given json) returns boolean language plpgsql stable strict parallel safe as $$
declare
  written text := given::text;
  rebuilt text;
  inner_too boolean;
begin
  case json_typeof(given)
  when 'object' then
    select '{' || coalesce(string_agg('"' || key || '":' || value, ',' order by key collate "C"), '') || '}',
        coalesce(bool_and(key ~ '^[ !#-\[\]-~]*$' and json_is_canonical(value)), true) and count(*) = count(distinct key)
      into rebuilt, inner_too from json_each(given);
    return inner_too and rebuilt = written;
  when 'array' then
    select '[' || coalesce(string_agg(value::text, ',' order by place), '') || ']',
        coalesce(bool_and(json_is_canonical(value)), true)
      into rebuilt, inner_too from json_array_elements(given) with ordinality as each (value, place);
    return inner_too and rebuilt = written;
  when 'string' then
    return to_json(given #>> '{}')::text = written;
  when 'number' then
    if written ~ '^(0|-?[1-9][0-9]{0,15})$' then
      return abs(written::numeric) <= 9007199254740991;
    end if;
    -- Any decimal of 15 digits is the shortest of its double; of longer ones PostgreSQL's own shortest decides.
    return written ~ '^-?(0|[1-9][0-9]{0,15})[.][0-9]{0,22}[1-9]$' and abs(written::numeric) >= 0.000001
      and (length(ltrim(translate(written, '-.', ''), '0')) <= 15 or written::float8::text::numeric = written::numeric);
  else
    return written in ('true', 'false', 'null');
  end case;
end $$;

-- The same, and quicker for what nearly all entries say: nothing, or a few plain fields.
create function audit_is_canonical(changes json) returns boolean language plpgsql stable strict parallel safe as $$
declare
  written text := changes::text;
  plain_field constant text := '"[a-z_]+":(?:"[^"\\\x01-\x1f]*"|0|-?[1-9][0-9]{0,14}|true|false|null)';
  key text;
  key_before text := '';
begin
  if written = '{}' or written ~ '^\{"[a-z_]+":(?:0|[1-9][0-9]{0,14}|true|false)\}$' then
    return true;
  end if;
  if written !~ ('^\{' || plain_field || '(?:,' || plain_field || ')*\}$') then
    return json_typeof(changes) = 'object' and json_is_canonical(changes);
  end if;
  for key in select json_object_keys(changes) loop
    if key collate "C" <= key_before collate "C" then
      return false;
    end if;
    key_before := key;
  end loop;
  return true;
end $$;
`;
