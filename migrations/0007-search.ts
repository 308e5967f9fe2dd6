// A search for users that costs the same however many there are.
import { Migration } from "@mikro-orm/migrations";
import { searchOwner } from "./0001/policies.ts";
import { search } from "./0007/search.ts";

export class Search extends Migration {
  override up(): void {
    for (const part of [search, searchOwner]) this.addSql(part);
  }
}
