// The two policies of every table with tenant rows, as SQL: the services' login sees one tenant's rows, its platform role sees
// all. FORCE holds the tables' owner to them too. A change here changes migrations that ran: a test keeps their sums, so what
// is needed otherwise gets a function of its own.

/** For some tables, whose column of the tenant is `tenant_id`. */
export const tenantPolicies = (tables: readonly string[]): string => `do $$
declare name text;
begin
  foreach name in array array[${tables.map((table) => `'${table}'`).join(", ")}] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy one_tenant on %I to records_app using (tenant_id = app_tenant())', name);
    execute format('create policy every_tenant on %I to records_platform using (true)', name);
  end loop;
end $$;`;

/** The same for one table. */
export const policiesOf = (table: string): string => `alter table ${table} enable row level security;
alter table ${table} force row level security;
create policy one_tenant on ${table} to records_app using (tenant_id = app_tenant());
create policy every_tenant on ${table} to records_platform using (true);`;
