// Bounds on what callers can make the service write, and what must not be learned through it: entries that sum up what
// repeats, counts per day, whom a chat is told of, and record numbers that are unique where they are seen.
import { Migration } from "@mikro-orm/migrations";
import { mayBeTold } from "./0014/may-be-told.ts";
import { recordNumbers } from "./0014/record-numbers.ts";
import { repeats } from "./0014/repeats.ts";
import { unsigned } from "./0014/unsigned.ts";

export class Limits extends Migration {
  override up(): void {
    for (const sql of [recordNumbers, mayBeTold, repeats, unsigned]) this.addSql(sql);
  }
}
