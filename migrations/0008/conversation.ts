// messenger_codes: at most one per chat, so that a newer one voids the older. The hash is absent until the code is sent;
//   swept some time after its end.
// messenger_updates: which of the messenger's updates were taken in, so that each has one effect; swept after days, when
//   the messenger no longer repeats them. Their ids may start anew after a quiet week: so a row each, and no high mark.
// messenger_bots: which process speaks with the messenger, for some seconds at a time, and how that goes. One row a bot,
//   named by a hash of its token; it stays.
// All of it is of no tenant yet, or of none at all: statements made for a tenant cannot see it.
export const conversation = `
create table messenger_codes (
  chat_id bigint primary key,
  code_hash bytea unique check (length(code_hash) = 32),
  display_name text not null check (length(display_name) <= 128),
  expires_at timestamptz(3) not null
);
create index messenger_codes_expiry on messenger_codes (expires_at);

create table messenger_updates (
  bot text not null,
  update_id bigint not null,
  taken_at timestamptz(3) not null default now(),
  primary key (bot, update_id)
);
create index messenger_updates_age on messenger_updates (taken_at);

create table messenger_bots (
  bot text primary key,
  leased_by uuid,
  leased_until timestamptz,
  state text not null default 'down' check (state in ('ok', 'down')),
  username text check (length(username) <= 64)
);

grant select, insert, update, delete on messenger_codes, messenger_updates to records_platform;
grant select, insert, update on messenger_bots to records_platform;
`;
