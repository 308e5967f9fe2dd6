// messenger_links: what a linked chat has beside its delivery target, under the same id: whose it is, and which kinds of
//   events were asked for (the target has those of them that the user's role may see). Deleted when it is unlinked; a row
//   that has ended only waits for the job that writes the audit entry.
// A target of a chat may ask for nothing: then it is not active.
import { policiesOf } from "../policies.ts";

export const links = `
create table messenger_links (
  id integer not null,
  tenant_id integer not null,
  user_id integer not null,
  chat_id bigint not null,
  display_name text not null check (length(display_name) <= 128),
  events text[] not null default '{}' check (cardinality(events) <= 50),
  linked_at timestamptz(3) not null default now(),
  ended_at timestamptz(3),
  ended_reason text check (ended_reason in ('user_blocked', 'user_deleted', 'tenant_deleted')),
  primary key (tenant_id, id),
  foreign key (tenant_id, id) references delivery_targets (tenant_id, id) on delete cascade,
  foreign key (tenant_id, user_id) references users (tenant_id, id) on delete cascade,
  check ((ended_at is null) = (ended_reason is null))
);
create unique index messenger_links_user on messenger_links (tenant_id, user_id) where ended_at is null;
create unique index messenger_links_chat on messenger_links (chat_id) where ended_at is null;
create index messenger_links_ended on messenger_links (ended_at) where ended_at is not null;
create index messenger_links_of_user on messenger_links (tenant_id, user_id);

${policiesOf("messenger_links")}
grant select, insert, update, delete on messenger_links to records_app, records_platform;

alter table delivery_targets drop constraint delivery_targets_events_check;
alter table delivery_targets add constraint delivery_targets_events_check check (cardinality(events) <= 100
  and (cardinality(events) >= 1 or (channel = 'messenger' and (not is_active or deleted_at is not null))));
`;
