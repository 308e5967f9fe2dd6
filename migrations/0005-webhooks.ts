// Events find their way out: who wants to be told of what, what is under way to them, and what was tried.
import { Migration } from "@mikro-orm/migrations";
import { deliveries } from "./0005/deliveries.ts";
import { fanOut } from "./0005/fan-out.ts";
import { targets } from "./0005/targets.ts";

export class Webhooks extends Migration {
  override up(): void {
    for (const part of [targets, deliveries, fanOut]) this.addSql(part);
  }
}
