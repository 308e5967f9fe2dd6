// audit_checkpoints: the signed documents as they leave the database, until every place that takes them has them. A row dies
//   after 30 days (audit.sweep); the truth is outside.
// audit_sinks: how far a place outside has them. One row per place, for good.
// audit_signing_keys: the public keys, so that an old one stays known. One row per secret, for good.
// audit_proofs: per tenant the last entry that was signed, where the next checkpoint goes on, and what the last proof found.
//   A row lives as long as the log, which is never deleted.
// Only the audit service writes any of them, for the platform; a tenant may see how its own log stands.
import { policiesOf } from "../policies.ts";

export const checkpoints = `
create table audit_checkpoints (
  number bigint primary key check (number > 0),
  document text not null,
  tenant_ids integer[] not null,
  created_at timestamptz(3) not null default now()
);
create index audit_checkpoints_tenants on audit_checkpoints using gin (tenant_ids);
create index audit_checkpoints_age on audit_checkpoints (created_at);

create table audit_sinks (
  name text primary key,
  last_number bigint not null,
  taken_at timestamptz(3) not null default now()
);

create table audit_signing_keys (
  key_id text primary key,
  public_key text not null,
  first_used_at timestamptz(3) not null default now()
);

create table audit_proofs (
  tenant_id integer primary key,
  seq bigint not null,
  hash bytea not null,
  signed_at timestamptz(3) not null default now(),
  -- When the whole log was last recomputed.
  proved_at timestamptz(3),
  -- Of what was found since the last proof of the whole log that found nothing.
  first_bad_seq bigint
);
create index audit_proofs_turn on audit_proofs (proved_at nulls first, tenant_id);

${policiesOf("audit_proofs")}

grant select on audit_proofs to records_app;
grant select, insert, update on audit_proofs, audit_sinks to records_platform;
grant select, insert on audit_signing_keys to records_platform;
grant select, insert, delete on audit_checkpoints to records_platform;
`;
