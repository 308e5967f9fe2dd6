// Since when the messenger is not spoken with: a process that takes it over, or a moment's trouble, is no fault yet.
import { Migration } from "@mikro-orm/migrations";

export class Healing extends Migration {
  override up(): void {
    this.addSql(
      `alter table messenger_bots add column down_since timestamptz default now();
       update messenger_bots set down_since = null where state = 'ok'`,
    );
  }
}
