// The trace by which an event came to be goes with it to its deliveries.
import { Migration } from "@mikro-orm/migrations";
import { traces } from "./0027/traces.ts";

export class Traces extends Migration {
  override up(): void {
    this.addSql(traces);
  }
}
