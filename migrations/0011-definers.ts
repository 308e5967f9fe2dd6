// Functions that run with more rights than their caller's must not be led astray by what the caller makes.
import { Migration } from "@mikro-orm/migrations";

// A search path that does not name pg_temp has it first: a temporary table named like one of ours would be taken for it,
// and a trigger on that would run with the function's rights. So pg_temp is named, last, and nobody but the owner makes
// temporary tables (where the owner of the tables does not own the database too, PostgreSQL only warns). A trigger
// function that anybody may use could be put on a table of theirs.
const definers = `
do $$
declare definer regprocedure;
begin
  for definer in select oid from pg_proc where prosecdef and pronamespace = 'public'::regnamespace
      and proname in ('audit_chain', 'append_entries', 'hold_sealing_keys', 'search_user_ids') loop
    execute format('alter function %s set search_path = pg_catalog, public, pg_temp', definer);
  end loop;
  execute format('revoke temporary on database %I from public', current_database());
end $$;
revoke execute on function audit_chain() from public;
`;

export class Definers extends Migration {
  override up(): void {
    this.addSql(definers);
  }
}
