// The schema staging: for each table that an archive may hold, one of the same columns where an archive's rows are laid out,
// under the job that did it: to be compared with the present ones, to be put in their place, or to prove that they can be.
//   Rows die when their job ends; what a killed job left is swept hourly. Unlogged, as losing it costs a job another try.
// It has no row-level security, which COPY cannot write under, and nobody but the role that the backups' login takes up for a
// restore may look into it (host/database/grants/backups.ts). That role sees and writes one tenant's rows in
// the real tables, by the policies of records_app, whose member it is.
export const staging = `
create schema staging;
do $$
declare
  name text;
  part record;
begin
  foreach name in array array['tenants', 'departments', 'users', 'preferences', 'patients', 'patient_records',
      'audit_heads', 'audit_entries', 'audit_checkpoints', 'audit_sinks', 'audit_signing_keys', 'audit_proofs',
      'daily_counts', 'events', 'fan_out_queue', 'delivery_targets', 'deliveries', 'delivery_attempts',
      'webhooks', 'messenger_links', 'messenger_updates', 'payments', 'payment_notifications', 'master_keys', 'data_keys',
      'rotations', 'rotation_tenants', 'quarantined_fields'] loop
    execute format('create unlogged table staging.%I (
      staged_for uuid not null default current_setting(''app.restore_job'')::uuid,
      staged_as bigint not null generated always as identity,
      primary key (staged_for, staged_as))', name);
    for part in select attname, format_type(atttypid, atttypmod) as type from pg_attribute
        where attrelid = format('public.%I', name)::regclass and attnum > 0 and not attisdropped and attgenerated = ''
        order by attnum loop
      execute format('alter table staging.%I add column %I %s', name, part.attname, part.type);
    end loop;
  end loop;
end $$;
`;
