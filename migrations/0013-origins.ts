// Sign-ins are counted by account and origin, and an account knows where it signed in from.
import { Migration } from "@mikro-orm/migrations";

// lockouts: failed sign-ins, one row per account, per slot of accounts that do not exist, and per slot of addresses. A
//   slot is a keyed hash, cut short: so nothing that anybody typed is kept, and the rows are as few as accounts and slots.
//   Swept two days after the last failure. What it held before named accounts by what was typed, and is thrown away.
// known_origins: addresses from which an account signed in, the ten newest of each; swept 90 days after the last time.
// registrations: from where an account was registered whose address nobody has verified yet; gone with the verification or
//   with the account, which is purged after the retention. An administrator who acts on the account settles it: then it is
//   not replaced by another registration any more.
// mail_tokens: of resets up to three may be open now. `request` is the wish for a mail that it was made for: a mail that is
//   tried again replaces its own token. The row's end is as before.
const origins = `
truncate lockouts;
alter table lockouts drop column email,
  add column account text not null check (account ~ '^(?:user|ghost|address):[0-9]{1,10}$'),
  add primary key (tenant_id, account);

create table known_origins (
  tenant_id integer not null,
  user_id integer not null,
  address text not null check (length(address) between 1 and 64),
  created_at timestamptz(3) not null default now(),
  seen_at timestamptz(3) not null default now(),
  primary key (tenant_id, user_id, address),
  foreign key (tenant_id, user_id) references users (tenant_id, id) on delete cascade
);
create index known_origins_age on known_origins (seen_at);

create table registrations (
  tenant_id integer not null,
  user_id integer not null,
  ip text,
  settled boolean not null default false,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, user_id),
  foreign key (tenant_id, user_id) references users (tenant_id, id) on delete cascade
);
create index registrations_age on registrations (created_at);

alter table mail_tokens drop constraint mail_tokens_pkey,
  add column slot smallint not null default 1 check (slot between 1 and 3),
  add column known boolean not null default false,
  add column request text check (length(request) <= 64),
  add check (kind = 'reset_password' or slot = 1),
  add primary key (tenant_id, user_id, kind, slot);
`;

const policies = `
do $$
declare
  name text;
begin
  foreach name in array array['known_origins', 'registrations'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy one_tenant on %I to records_app using (tenant_id = app_tenant())', name);
    execute format('create policy every_tenant on %I to records_platform using (true)', name);
  end loop;
end $$;
grant select, insert, update, delete on known_origins, registrations to records_app, records_platform;
`;

export class Origins extends Migration {
  override up(): void {
    this.addSql(origins);
    this.addSql(policies);
  }
}
